"""One drawing method for each asking strategy: a draft with its answer in the data, or ``None`` to try again."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass

from bgr.atlas.sampler_index import AtlasIndex
from bgr.atlas.sampler_thresholds import IDENTIFIERS, round_between
from bgr.atlas.sampler_tree import Condition, Description, Draft
from bgr.atlas.sampler_walk import MAX_FAN, Walker
from bgr.kb.comparison import year_of
from bgr.kb.schema import Value
from bgr.kb.statement import Statement

# how often the questions of a strategy are about a kind of thing
ATTRIBUTE_KINDS = {"film": 0.62, "country": 0.11, "city": 0.06, "airport": 0.07, "element": 0.11, "state": 0.03}
NAME_KINDS = {
    "film": 0.38, "human": 0.24, "country": 0.1, "city": 0.05, "airport": 0.03, "element": 0.05, "company": 0.04,
    "language": 0.03, "currency": 0.02, "region": 0.02, "continent": 0.01, "genre": 0.01, "time zone": 0.01, "state": 0.01,
}  # fmt: skip
SET_KINDS = {"film": 0.64, "human": 0.08, "country": 0.12, "city": 0.03, "airport": 0.03, "element": 0.07, "company": 0.02,
             "language": 0.01}  # fmt: skip
MAX_SET = 24
"""Counts and selections are over at most so many things: the paper's largest graph has 24 facts."""


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


class Drafter:
    """Draws drafts by recipe. All chance comes from `rng`."""

    def __init__(self, index: AtlasIndex, rng: random.Random) -> None:
        self.index = index
        self.rng = rng
        self.walker = Walker(index, rng)

    def draw(self, recipe: Recipe) -> Draft | None:
        method: Callable[[Recipe], Draft | None] = getattr(self, recipe.strategy)
        return method(recipe)

    # -- query --------------------------------------------------------------------------------------------------------

    def what(self, recipe: Recipe) -> Draft | None:
        target = self._thing(NAME_KINDS)
        if recipe.form == "code":
            return self._by_code()
        subject = self._subject(target, recipe)
        return Draft("What", subject) if subject else None

    def query_attribute(self, recipe: Recipe) -> Draft | None:
        """QueryAttr, or QueryAttrUnderCondition where the key has several values or a qualifier to mention."""
        target = self._thing(ATTRIBUTE_KINDS)
        subject = self._subject(target, recipe)
        if subject is None:
            return None
        statement = self._statement(target, subject)
        if statement is None:
            return None
        several = len(self.index.values(target)[statement.predicate]) > 1
        return self._attribute_draft("QueryAttr", subject, statement, several, recipe.form == "condition")

    def query_relation(self, recipe: Recipe) -> Draft | None:
        pair = self._pair(recipe, qualified=False)
        return Draft("QueryRelation", pair[0], pair[1]) if pair else None

    # -- qualifiers ---------------------------------------------------------------------------------------------------

    def attribute_qualifier(self, recipe: Recipe) -> Draft | None:
        target = self._thing({"film": 0.75, "country": 0.25})
        statements = [s for found in self.index.values(target).values() for s in found if s.qualifiers]
        subject = self._subject(target, recipe) if statements else None
        if subject is None:
            return None
        statement = self.rng.choice(statements)
        key, values = self.rng.choice(statement.qualifiers)
        if len(values) != 1 or key not in self.index.book.qualifiers["attributes"]:
            return None
        return Draft("QueryAttrQualifier", subject, key=statement.predicate, value=statement.value, qualifier=(key, None))

    def relation_qualifier(self, recipe: Recipe) -> Draft | None:
        pair = self._pair(recipe, qualified=True)
        if pair is None:
            return None
        subject, other, statement = pair
        known = self.index.book.qualifiers["relations"].get(statement.predicate, {})
        keys = [key for key, values in statement.qualifiers if len(values) == 1 and key in known]
        if not keys:
            return None
        key = self.rng.choice(keys)
        return Draft("QueryRelationQualifier", subject, other, key=statement.predicate, qualifier=(key, None))

    # -- boolean ------------------------------------------------------------------------------------------------------

    def verify(self, recipe: Recipe) -> Draft | None:
        target = self._thing(ATTRIBUTE_KINDS)
        subject = self._subject(target, recipe)
        statement = self._statement(target, subject) if subject else None
        if subject is None or statement is None or statement.value is None:
            return None
        several = len(self.index.values(target)[statement.predicate]) > 1
        draft = self._attribute_draft("Verify", subject, statement, several, self.rng.random() < 0.15)
        test = self._test(statement.predicate, statement.value) if draft else None
        if draft is None or test is None:
            return None
        return Draft("Verify", subject, key=draft.key, op=test[0], value=test[1], qualifier=draft.qualifier)

    def _test(self, key: str, value: Value) -> tuple[str, Value] | None:
        """An operator and a value to test, true as often as false."""
        truth = self.rng.random() < 0.5
        pool = self.index.pool(key, value.unit)
        ops = [op for op, slot in (("=", "equal"), (">", "greater"), ("<", "less")) if self.index.book.attribute(key, slot)]
        op = self.rng.choice(ops)
        if op == "=":
            if value.type in ("date", "year") and self.rng.random() < 0.7:
                year = year_of(value)
                return op, Value("year", year if truth else year + self.rng.choice((-5, -3, -2, -1, 1, 2, 4)))
            wrong = [v for v in pool if v != value and v.type == value.type]
            return (op, value) if truth else ((op, self.rng.choice(wrong)) if wrong else None)
        if value.type in ("date", "year"):
            above = (op == "<") == truth
            return op, Value("year", year_of(value) + (1 if above else -1) * self.rng.randint(1, 9))
        assert isinstance(value.value, int | float)
        above = (op == "<") == truth
        factor = self.rng.uniform(1.05, 1.6)
        ends = (value.value, value.value * factor) if above else (value.value / factor, value.value)
        bound = round_between(*ends, include_low=not above)
        return (op, Value("quantity", bound, value.unit)) if bound is not None else None

    # -- sets: counting and comparing -----------------------------------------------------------------------------------

    def count(self, recipe: Recipe) -> Draft | None:
        subject = self._set(recipe)
        return Draft("Count", subject) if subject and len(subject.members) <= MAX_SET else None

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
        kind = self.rng.choice(("element", "element", "country", "state"))
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
            if len({(v.type, v.unit) for v in values if v}) == 1 and len({v.value for v in values if v}) == len(members):
                keys.append(key)
        return self.rng.choice(keys) if keys else None

    # -- parts --------------------------------------------------------------------------------------------------------

    def _kind(self, weights: dict[str, float]) -> str:
        kinds = [kind for kind in weights if self.index.things[kind]]
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

    def _attribute_draft(
        self, function: str, subject: Description, statement: Statement, several: bool, wanted: bool
    ) -> Draft | None:
        """The attribute's draft, under a condition where the key has several values or one is wanted."""
        usable = [(k, v[0]) for k, v in statement.qualifiers if len(v) == 1 and k in self.index.book.qualifiers["conditions"]]
        if not several and not (wanted and usable):
            return Draft(function, subject, key=statement.predicate, value=statement.value)
        if not usable:
            return None
        name = "QueryAttrUnderCondition" if function == "QueryAttr" else function
        asked = self.rng.choice(usable)
        return Draft(name, subject, key=statement.predicate, value=statement.value, qualifier=asked)

    def _pair(self, recipe: Recipe, *, qualified: bool) -> tuple[Description, Description, Statement] | None:
        """Head and tail of a relation's statement, each named or described."""
        kinds = {"film": 0.5, "element": 0.5} if qualified else {"film": 0.7, "element": 0.1, "country": 0.2}
        head = self._thing(kinds)
        statements = [s for s, side in self.index.kb.relations(head) if side == "forward"]
        statements = [s for s in statements if s.tail in self.index.kind and (s.qualifiers or not qualified)]
        if not statements:
            return None
        statement = self.rng.choice(statements)
        assert statement.tail is not None
        depths = [recipe.depth, recipe.depth if self.rng.random() < 0.3 else 0]
        self.rng.shuffle(depths)
        subject = self._apart(head, statement.tail, depths[0], recipe.joins)
        other = self._apart(statement.tail, head, depths[1], recipe.joins) if subject else None
        return (subject, other, statement) if subject and other else None

    def _apart(self, target: str, end: str, depth: int, joins: float) -> Description | None:
        """A description of one end of a relation that does not lead through the other."""
        found = self.walker.described(target, depth, joins=joins, avoid=frozenset({end}))
        return found if found and found.members == (target,) else None

    def _by_code(self) -> Draft | None:
        """The thing that an identifier belongs to, among all of its kind."""
        target = self._thing({"country": 0.3, "airport": 0.25, "element": 0.25, "state": 0.1, "film": 0.1})
        kind = self.index.kind[target]
        keys = [key for key in self.index.values(target) if key in IDENTIFIERS]
        if not keys:
            return None
        key = self.rng.choice(keys)
        value = self.index.values(target)[key][0].value
        assert value is not None
        condition = Condition(key, "=", value)
        members = self.index.keep(self.index.things[kind], condition)
        subject = self.walker.unfiltered(kind).under(condition, members)
        return Draft("What", subject) if subject.single else None
