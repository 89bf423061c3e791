"""Drafts over several entities (counting, choosing among them or between two), and the parts that all drafts share."""

from __future__ import annotations

import random

from bgr.data.atlas.question_tree import Description, Draft
from bgr.data.atlas.sampler.index import AtlasIndex
from bgr.data.atlas.sampler.recipes import Recipe
from bgr.data.atlas.sampler.thresholds import IDENTIFIERS, KEY_WEIGHTS
from bgr.data.atlas.sampler.walk import MAX_FAN, Walker
from bgr.data.kb.schema import Statement
from bgr.errors import BgrError

# weights of the kinds of entities that questions for attributes are about
ATTRIBUTE_KINDS = {"film": 0.62, "country": 0.11, "city": 0.06, "airport": 0.07, "element": 0.11, "state": 0.03}
SET_KINDS = {
    "film": 0.64, "human": 0.08, "country": 0.12, "city": 0.03, "airport": 0.03, "element": 0.07, "company": 0.02,
    "language": 0.01,
}  # fmt: skip
MAX_SET = 24
"""Maximum number of entities in counts and selections; the paper's largest graph has 24 facts."""


class NoSuchEntities(BgrError):
    """The knowledge base has no entities of the kinds that a draft needs."""


class DraftParts:
    """Parts of drafts: random entities, descriptions of one of them, its attributes. Random choices come from `rng`."""

    def __init__(self, index: AtlasIndex, rng: random.Random) -> None:
        self.index = index
        self.rng = rng
        self.walker = Walker(index, rng)

    def _random_kind(self, weights: dict[str, float]) -> str:
        kinds = [kind for kind in weights if self.index.entities[kind]]
        if not kinds:
            raise NoSuchEntities(f"the knowledge base has none of: {', '.join(weights)}")
        return self.rng.choices(kinds, [weights[kind] for kind in kinds])[0]

    def _random_entity(self, weights: dict[str, float]) -> str:
        return self.rng.choice(self.index.entities[self._random_kind(weights)])

    def _subject(self, target: str, recipe: Recipe) -> Description | None:
        """A description whose only member is `target`."""
        found = self.walker.described(target, recipe.depth, joins=recipe.joins)
        return found if found and found.members == (target,) else None

    def _statement(self, target: str, subject: Description) -> Statement | None:
        """An attribute of the target that is not in its description."""
        known = {condition.key for condition in subject.conditions}
        keys = [key for key in self.index.values(target) if key not in known]
        if not keys:
            return None
        # identifiers are many and similar, so they are asked for less often
        weights = [0.4 if key in IDENTIFIERS and key != "atomic number" else 1.0 for key in keys]
        return self.rng.choice(self.index.values(target)[self.rng.choices(keys, weights)[0]])


class SetDrafts(DraftParts):
    """Samples drafts of Count, SelectAmong and SelectBetween."""

    def count(self, recipe: Recipe) -> Draft | None:
        subject = self._set(recipe)
        if subject is None or len(subject.members) > MAX_SET:
            return None
        if subject.single and self.rng.random() > 0.15:
            return None  # "how many" is mostly asked if there are several
        return Draft("Count", subject)

    def select_among(self, recipe: Recipe) -> Draft | None:
        if recipe.form == "options":
            kind = self._random_kind(ATTRIBUTE_KINDS)
            chosen = list(dict.fromkeys(self._random_entity({kind: 1.0}) for _ in range(self.rng.choice((3, 3, 4)))))
            names = tuple(self.index.kb.name(i) for i in chosen)
            if len(set(names)) < 3 or any(len(self.index.kb.ids(n)) > 1 for n in names):
                return None
            subject: Description | None = Description(kind, tuple(chosen), options=names)
        else:
            subject = self._set(recipe)
        if subject is None or not 2 <= len(subject.members) <= 9:
            return None
        key = self._comparable_key(subject.members, "most")
        return Draft("SelectAmong", subject, key=key, op=self.rng.choice(("largest", "smallest"))) if key else None

    def select_between(self, recipe: Recipe) -> Draft | None:
        kind = self._random_kind(ATTRIBUTE_KINDS)
        first, second = self._random_entity({kind: 1.0}), self._random_entity({kind: 1.0})
        if first == second:
            return None
        key = self._comparable_key((first, second), "more")
        left = self._subject(first, recipe) if key else None
        depth = recipe.depth if self.rng.random() < 0.7 else max(0, recipe.depth - 1)
        right = self._subject(second, Recipe(recipe.strategy, depth, recipe.joins)) if left else None
        if key is None or left is None or right is None:
            return None
        if self.rng.random() < 0.5:
            left, right = right, left
        return Draft("SelectBetween", left, right, key=key, op=self.rng.choice(("greater", "less")))

    def _set(self, recipe: Recipe) -> Description | None:
        """A set of entities: by one relation, two joined by And or Or, with a filter, or from all of a kind."""
        if recipe.form == "all":
            return self._of_whole_kind()
        target = self._random_entity(SET_KINDS)
        found = self.walker.described(target, recipe.depth, joins=0.0, single=False)
        if found is None:
            return None
        if recipe.form == "or":
            return self._either(found)
        if recipe.form == "and":
            return self.walker.joined(found, target, frozenset({target}))
        if recipe.form == "filter":
            return self.walker.filtered(found, target, frozenset())
        return found

    def _either(self, found: Description) -> Description | None:
        second = self._random_entity({found.kind: 1.0}) if self.rng.random() < 0.5 else self.rng.choice(found.members)
        base = found.links[0].base
        link = self.walker.link(second, 1, joins=0.0, avoid=frozenset(base.members), max_fan=MAX_FAN)
        if link is None or link.base.kind == "genre" or found.concept:
            return None
        return self.walker.of_links(found.kind, (found.links[0], link), "Or")

    def _of_whole_kind(self) -> Description | None:
        kind = self._random_kind({"element": 0.5, "country": 0.25, "state": 0.25})
        found = self.walker.unfiltered(kind)
        target = self.rng.choice(found.members)
        for _ in range(2):
            better = self.walker.filtered(found, target, frozenset())
            if better is None:
                return None
            found = better
            if len(found.members) <= 9:
                return found
        return None

    def _comparable_key(self, members: tuple[str, ...], slot: str) -> str | None:
        """A numeric key of which every member has one value, all in one unit and distinct."""
        keys = []
        for key in self.index.values(members[0]):
            rows = [self.index.values(m).get(key, []) for m in members]
            values = [row[0].value for row in rows if len(row) == 1]
            if len(values) != len(members) or not self.index.book.attribute(key, slot):
                continue
            if len({(v.type, v.unit) for v in values if v}) == 1 and len({v.value for v in values if v}) == len(
                members
            ):
                keys.append(key)
        return self.rng.choices(keys, [KEY_WEIGHTS.get(key, 1.0) for key in keys])[0] if keys else None
