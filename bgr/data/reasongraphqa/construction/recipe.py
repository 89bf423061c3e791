"""Recipes: named ways to choose the candidates of a question. Tables never mix datasets of different recipes.

- ``paper``: 20 to 25 candidates, three kinds of distractors, a third each (paper, section 3.1.2);
- ``rivals``: 15 to 120 candidates, the evidence and rivals of several questions, of which only one is asked; a tenth
  of the questions has no answer among its candidates.

Distractors are of three kinds of the paper (section 3.1.2) and two more (`interference`), by the shares of a `Mixture`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from random import Random

from bgr.errors import DataError

SIMILAR, SAME_HEAD, RANDOM, RIVAL, OTHER = "similar", "same head", "random", "rival", "other question"
KINDS = (SIMILAR, SAME_HEAD, RANDOM, RIVAL, OTHER)
PAPER_KINDS = KINDS[:3]
MIN_DISTRACTORS = 3


@dataclass(frozen=True)
class Mixture:
    """The share of each kind among the distractors of a question; their sum is 1.

    A share of 0 means none, except for (c), which replaces the others if there are too few of them.

    Raises:
        DataError: a share is negative or not a number, or the sum is not 1.
    """

    similar: float = 1 / 3
    same_head: float = 1 / 3
    random: float = 1 / 3
    rival: float = 0.0
    other: float = 0.0

    def __post_init__(self) -> None:
        shares = tuple(self.by_kind.values())
        # written so that nan fails too
        if not (min(shares) >= 0 and abs(sum(shares) - 1) <= 1e-6):
            text = " ".join(f"{share:g}" for share in shares)
            raise DataError(f"mixture {text}, allowed: shares of 0 or more that add up to 1")

    @property
    def by_kind(self) -> dict[str, float]:
        """The shares of the paper's kinds, and of the others that there are."""
        shares = zip(KINDS, (self.similar, self.same_head, self.random, self.rival, self.other), strict=True)
        return {kind: share for kind, share in shares if share or kind in PAPER_KINDS}


THIRDS = Mixture()
HARD = Mixture(0.45, 0.45, 0.1)
"""More distractors that look like evidence, fewer random ones."""

_TIES = (SAME_HEAD, SIMILAR, RANDOM, RIVAL, OTHER)


def shares(gold: int, candidates: int, mixture: Mixture = THIRDS) -> dict[str, int]:
    """The number of distractors of each kind (at least three in all), rounded to the right sum.

    The remainder goes to the kinds that lost most by rounding; among equals first to (b), then to (a).
    """
    count = max(candidates - gold, MIN_DISTRACTORS)
    exact = {kind: count * share for kind, share in mixture.by_kind.items()}
    found = {kind: math.floor(number) for kind, number in exact.items()}
    lost = {kind: round(exact[kind] - found[kind], 6) for kind in sorted(found, key=_TIES.index)}
    for kind in sorted(lost, key=lambda kind: -lost[kind])[: count - sum(found.values())]:
        found[kind] += 1
    return found


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
