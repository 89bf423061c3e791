"""Drafts over several things: counting them, choosing among them, choosing between two."""

from __future__ import annotations

from bgr.data.atlas.question_tree import Description, Draft
from bgr.data.atlas.sampler.parts import ATTRIBUTE_KINDS, DraftParts, Recipe
from bgr.data.atlas.sampler.thresholds import KEY_WEIGHTS
from bgr.data.atlas.sampler.walk import MAX_FAN

SET_KINDS = {
    "film": 0.64, "human": 0.08, "country": 0.12, "city": 0.03, "airport": 0.03, "element": 0.07, "company": 0.02,
    "language": 0.01,
}  # fmt: skip
MAX_SET = 24
"""Counts and selections are over at most so many things: the paper's largest graph has 24 facts."""


class SetDrafts(DraftParts):
    """Draws Count, SelectAmong and SelectBetween."""

    def count(self, recipe: Recipe) -> Draft | None:
        subject = self._set(recipe)
        if subject is None or len(subject.members) > MAX_SET:
            return None
        if subject.single and self.rng.random() > 0.15:
            return None  # "how many" is mostly asked where there are several
        return Draft("Count", subject)

    def select_among(self, recipe: Recipe) -> Draft | None:
        if recipe.form == "options":
            kind = self._kind(ATTRIBUTE_KINDS)
            chosen = list(dict.fromkeys(self._thing({kind: 1.0}) for _ in range(self.rng.choice((3, 3, 4)))))
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
        kind = self._kind(ATTRIBUTE_KINDS)
        first, second = self._thing({kind: 1.0}), self._thing({kind: 1.0})
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
        """A set of several things: from one relation, two joined by And or Or, with a filter, or from a whole kind."""
        if recipe.form == "all":
            return self._of_whole_kind()
        target = self._thing(SET_KINDS)
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
        second = self._thing({found.kind: 1.0}) if self.rng.random() < 0.5 else self.rng.choice(found.members)
        base = found.links[0].base
        link = self.walker.link(second, 1, joins=0.0, avoid=frozenset(base.members), max_fan=MAX_FAN)
        if link is None or link.base.kind == "genre" or found.concept:
            return None
        return self.walker.of_links(found.kind, (found.links[0], link), "Or")

    def _of_whole_kind(self) -> Description | None:
        kind = self._kind({"element": 0.5, "country": 0.25, "state": 0.25})
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
        """A numeric key of which every member has one value in one unit, no two alike."""
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
