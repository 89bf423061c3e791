"""What all asking strategies are drawn from: random things, descriptions that mean one of them, their attributes."""

from __future__ import annotations

import random
from dataclasses import dataclass

from bgr.data.atlas.question_tree import Description
from bgr.data.atlas.sampler.index import AtlasIndex
from bgr.data.atlas.sampler.thresholds import IDENTIFIERS
from bgr.data.atlas.sampler.walk import Walker
from bgr.data.kb.schema import Statement
from bgr.errors import BgrError

# how often the questions of a strategy that reads attributes are about a kind of thing
ATTRIBUTE_KINDS = {"film": 0.62, "country": 0.11, "city": 0.06, "airport": 0.07, "element": 0.11, "state": 0.03}


@dataclass(frozen=True)
class Recipe:
    """How a strategy is drawn: the depth of its descriptions and how they are narrowed.

    Args:
        strategy: the name of a method of `Drafter`.
        depth: relations between a name and what is asked of.
        joins: chance that a description is narrowed by a second relation rather than a filter.
        form: a variant that the method knows.
    """

    strategy: str
    depth: int = 0
    joins: float = 0.0
    form: str = ""


class NothingToDraw(BgrError):
    """The knowledge base lacks a whole kind of thing; the draft comes to nothing."""


class DraftParts:
    """The parts of drafts. All chance comes from `rng`."""

    def __init__(self, index: AtlasIndex, rng: random.Random) -> None:
        self.index = index
        self.rng = rng
        self.walker = Walker(index, rng)

    # -- parts --------------------------------------------------------------------------------------------------------

    def _kind(self, weights: dict[str, float]) -> str:
        kinds = [kind for kind in weights if self.index.things[kind]]
        if not kinds:
            raise NothingToDraw(f"the knowledge base holds none of: {', '.join(weights)}")
        return self.rng.choices(kinds, [weights[kind] for kind in kinds])[0]

    def _thing(self, weights: dict[str, float]) -> str:
        return self.rng.choice(self.index.things[self._kind(weights)])

    def _subject(self, target: str, recipe: Recipe) -> Description | None:
        """A description that means `target` alone."""
        found = self.walker.described(target, recipe.depth, joins=recipe.joins)
        return found if found and found.members == (target,) else None

    def _statement(self, target: str, subject: Description) -> Statement | None:
        """An attribute of the target that its description does not already tell."""
        told = {condition.key for condition in subject.conditions}
        keys = [key for key in self.index.values(target) if key not in told]
        if not keys:
            return None
        # the codes are many and alike; they are asked for less often
        weights = [0.4 if key in IDENTIFIERS and key != "atomic number" else 1.0 for key in keys]
        return self.rng.choice(self.index.values(target)[self.rng.choices(keys, weights)[0]])
