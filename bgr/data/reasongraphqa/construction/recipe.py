"""Recipes: named ways to choose the candidates of a question. Tables never mix datasets of different recipes.

- ``paper``: 20 to 25 candidates, three kinds of distractors, a third each (paper, section 3.1.2);
- ``rivals``: 15 to 120 candidates, the evidence and rivals of several questions, of which only one is asked; a tenth
  of the questions has no answer among its candidates.
"""

from __future__ import annotations

from dataclasses import dataclass
from random import Random

from bgr.data.reasongraphqa.construction.mixture import THIRDS, Mixture


@dataclass(frozen=True)
class Recipe:
    """Defaults of a dataset's settings.

    Args:
        name: key in `RECIPES`.
        version: changes with every change of the datasets that it builds.
        candidates_min, candidates: minimum and maximum number of candidates.
        mixture: the share of each kind of distractor.
        unanswerable: share of the questions that are left without needed facts.
        tail: mean of the exponential distribution of the candidates beyond the minimum; ``None``: uniform.
    """

    name: str
    version: int
    candidates_min: int
    candidates: int
    mixture: Mixture
    unanswerable: float = 0.0
    tail: float | None = None

    def __str__(self) -> str:
        return f"{self.name}-{self.version}"

    def draw(self, minimum: int, maximum: int, rng: Random) -> int:
        """A number of candidates."""
        if self.tail is None:
            return rng.randint(minimum, maximum)
        return min(maximum, minimum + int(rng.expovariate(1 / self.tail)))


RECIPES = {
    "paper": Recipe("paper", 1, 20, 25, THIRDS),
    "rivals": Recipe("rivals", 2, 15, 120, Mixture(0.0, 0.1, 0.0, 0.4, 0.5), unanswerable=0.1, tail=18.0),
}
