"""Sampling of drafts, one method for each asking strategy; ``None`` where the random choices lead to no draft."""

from __future__ import annotations

import math
import random
from collections.abc import Callable
from dataclasses import replace

from bgr.data.atlas.question_tree import Condition, Description, Draft
from bgr.data.atlas.sampler.index import AtlasIndex
from bgr.data.atlas.sampler.recipes import Recipe
from bgr.data.atlas.sampler.walk import IDENTIFIERS, KEY_WEIGHTS, MAX_FAN, Walker, round_between
from bgr.data.kb.comparison import year_of
from bgr.data.kb.schema import Statement, Value
from bgr.errors import BgrError

# weights of the kinds of entities that questions are about: those for a name, for attributes, about sets, about pairs
# (with a qualifier: QUALIFIED_KINDS), and for the bearer of a code
NAME_KINDS = {
    "film": 0.38, "human": 0.24, "country": 0.1, "city": 0.05, "airport": 0.03, "element": 0.05, "company": 0.04,
    "language": 0.06, "currency": 0.02, "region": 0.02, "continent": 0.01, "genre": 0.01, "time zone": 0.01,
    "state": 0.01, "script": 0.02, "family": 0.02, "compound": 0.06, "chemical family": 0.01,
}  # fmt: skip
ATTRIBUTE_KINDS = {
    "film": 0.62, "country": 0.11, "city": 0.06, "airport": 0.07, "element": 0.11, "state": 0.03, "language": 0.07,
    "script": 0.02, "compound": 0.12,
}  # fmt: skip
SET_KINDS = {
    "film": 0.64, "human": 0.08, "country": 0.12, "city": 0.03, "airport": 0.03, "element": 0.07, "company": 0.02,
    "language": 0.05, "script": 0.01, "compound": 0.08,
}  # fmt: skip
PAIR_KINDS = {"film": 0.6, "element": 0.1, "country": 0.2, "language": 0.1, "compound": 0.1}
QUALIFIED_KINDS = {"film": 0.35, "element": 0.35, "country": 0.3, "compound": 0.15}
CODE_KINDS = {
    "country": 0.3, "airport": 0.25, "element": 0.2, "state": 0.1, "film": 0.1, "language": 0.1, "script": 0.05,
    "compound": 0.15,
}  # fmt: skip
MAX_SET = 24
"""Maximum number of entities in counts; the paper's largest graph has 24 facts."""
MAX_SELECTION = 9


class NoSuchEntities(BgrError):
    """The knowledge base has no entities of the kinds that a draft needs."""


class Drafter:
    """Samples drafts by recipe. All random choices come from `rng`.

    Args:
        even: choose kinds equally often, within a kind a relation or attribute equally often, then one of the entities
            that have it; otherwise by the weights above, and within a kind any entity.
    """

    def __init__(self, index: AtlasIndex, rng: random.Random, *, even: bool = False) -> None:
        self.index = index
        self.rng = rng
        self.even = even
        self.walker = Walker(index, rng, even=even)

    def sample(self, recipe: Recipe) -> Draft | None:
        method: Callable[[Recipe], Draft | None] = getattr(self, recipe.strategy)
        try:
            return method(recipe)
        except NoSuchEntities:
            return None

    # -- names, relations and qualifiers ------------------------------------------------------------------------------

    def what(self, recipe: Recipe) -> Draft | None:
        target = self._random_entity(NAME_KINDS)
        if recipe.form == "code":
            return self._by_code()
        subject = self._subject(target, recipe.depth, recipe.joins)
        return Draft("What", subject) if subject else None

    def query_relation(self, recipe: Recipe) -> Draft | None:
        pair = self._pair(recipe, qualified=False)
        return Draft("QueryRelation", pair[0], pair[1]) if pair else None

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

    def attribute_qualifier(self, recipe: Recipe) -> Draft | None:
        target = self._random_entity({"film": 0.6, "country": 0.4})
        subject = self._subject(target, recipe.depth, recipe.joins)
        if subject is None:
            return None
        statements = [s for found in self._unmentioned(target, subject).values() for s in found if s.qualifiers]
        if not statements:
            return None
        statement = self.rng.choice(statements)
        key, values = self.rng.choice(statement.qualifiers)
        if len(values) != 1 or key not in self.index.book.qualifiers["attributes"]:
            return None
        asked = (key, None)
        return Draft("QueryAttrQualifier", subject, key=statement.predicate, value=statement.value, qualifier=asked)

    # -- attributes ---------------------------------------------------------------------------------------------------

    def query_attribute(self, recipe: Recipe) -> Draft | None:
        draft = self._about_attribute("QueryAttr", recipe)
        return replace(draft, function="QueryAttrUnderCondition") if draft and draft.qualifier else draft

    def verify(self, recipe: Recipe) -> Draft | None:
        draft = self._about_attribute("Verify", recipe)
        test = self._test(draft.key, draft.value) if draft and draft.value else None
        return replace(draft, op=test[0], value=test[1]) if draft and test else None

    def _about_attribute(self, function: str, recipe: Recipe) -> Draft | None:
        """An attribute of an entity, with a qualifier as condition if the key has several values or one is wanted."""
        target = self._random_entity(ATTRIBUTE_KINDS)
        subject = self._subject(target, recipe.depth, recipe.joins)
        if subject is None:
            return None
        values = self._unmentioned(target, subject)
        if not values:
            return None
        # identifiers are many and similar, so they are asked for less often
        weights = [0.4 if key in IDENTIFIERS and key != "atomic number" else 1.0 for key in values]
        key = self.rng.choices(list(values), weights)[0]
        statement = self.rng.choice(values[key])
        wanted = self.rng.random() < 0.15 if function == "Verify" else recipe.form == "condition"
        usable = self.index.usable_qualifiers(statement)
        several = len(values[key]) > 1
        if several and not usable:
            return None
        asked = self.rng.choice(usable) if usable and (several or wanted) else None
        return Draft(function, subject, key=key, value=statement.value, qualifier=asked)

    def _test(self, key: str, value: Value) -> tuple[str, Value] | None:
        """An operator and a value to test, true in half of the cases."""
        truth = self.rng.random() < 0.5
        pool = self.index.pool(key, value.unit)
        slots = (("=", "equal"), (">", "greater"), ("<", "less"))
        op = self.rng.choice([op for op, slot in slots if self.index.book.attribute(key, slot)])
        above = (op == "<") == truth
        if op == "=":
            if value.type in ("date", "year") and self.rng.random() < 0.7:
                year = year_of(value)
                return op, Value("year", year if truth else year + self.rng.choice((-5, -3, -2, -1, 1, 2, 4)))
            wrong = [v for v in pool if v != value and v.type == value.type]
            return (op, value) if truth else ((op, self.rng.choice(wrong)) if wrong else None)
        if value.type in ("date", "year"):
            return op, Value("year", year_of(value) + (1 if above else -1) * self.rng.randint(1, 9))
        assert isinstance(value.value, int | float)
        factor = self.rng.uniform(1.05, 1.6)
        far = value.value * factor if above else value.value / factor
        if isinstance(value.value, int):  # "more than 1.6 Oscars"
            far = math.ceil(far) if above else math.floor(far)
        bound = round_between(*sorted((value.value, far)), include_low=not above)
        if not bound or (value.unit == "percent" and bound > 100):
            return None
        return op, Value("quantity", bound, value.unit)

    # -- counting and selecting ---------------------------------------------------------------------------------------

    def count(self, recipe: Recipe) -> Draft | None:
        subject = self._set(recipe)
        if subject is None or len(subject.members) > MAX_SET:
            return None
        if subject.single and self.rng.random() > 0.15:
            return None  # "how many" is mostly asked if there are several
        return Draft("Count", subject)

    def select_among(self, recipe: Recipe) -> Draft | None:
        subject = self._options() if recipe.form == "options" else self._set(recipe)
        if subject is None or not 2 <= len(subject.members) <= MAX_SELECTION:
            return None
        key = self.comparable_key(subject.members, "most")
        return Draft("SelectAmong", subject, key=key, op=self.rng.choice(("largest", "smallest"))) if key else None

    def select_between(self, recipe: Recipe) -> Draft | None:
        kind = self._random_kind(ATTRIBUTE_KINDS)
        first, second = self._random_entity({kind: 1.0}), self._random_entity({kind: 1.0})
        if first == second:
            return None
        key = self.comparable_key((first, second), "more")
        left = self._subject(first, recipe.depth, recipe.joins) if key else None
        depth = recipe.depth if self.rng.random() < 0.7 else max(0, recipe.depth - 1)
        right = self._subject(second, depth, recipe.joins) if left else None
        if key is None or left is None or right is None:
            return None
        if self.rng.random() < 0.5:
            left, right = right, left
        return Draft("SelectBetween", left, right, key=key, op=self.rng.choice(("greater", "less")))

    def _options(self) -> Description | None:
        """Three or four named entities of one kind."""
        kind = self._random_kind(ATTRIBUTE_KINDS)
        chosen = list(dict.fromkeys(self._random_entity({kind: 1.0}) for _ in range(self.rng.choice((3, 3, 4)))))
        names = tuple(self.index.kb.name(i) for i in chosen)
        if len(set(names)) < 3 or any(len(self.index.kb.ids(n)) > 1 for n in names):
            return None
        return Description(kind, tuple(chosen), options=names)

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
        return self.walker.filtered(found, target) if recipe.form == "filter" else found

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
            better = self.walker.filtered(found, target)
            if better is None or len(better.members) <= MAX_SELECTION:
                return better
            found = better
        return None

    def comparable_key(self, members: tuple[str, ...], slot: str) -> str | None:
        """A numeric key of which every member has one value, all in one unit and distinct."""
        keys = []
        for key in self.index.values(members[0]):
            rows = [self.index.values(m).get(key, []) for m in members]
            values = [row[0].value for row in rows if len(row) == 1]
            if len(values) != len(members) or not self.index.book.attribute(key, slot):
                continue
            units, numbers = {(v.type, v.unit) for v in values if v}, {v.value for v in values if v}
            if len(units) == 1 and len(numbers) == len(members):
                keys.append(key)
        return self.rng.choices(keys, [KEY_WEIGHTS.get(key, 1.0) for key in keys])[0] if keys else None

    # -- parts --------------------------------------------------------------------------------------------------------

    def _random_kind(self, weights: dict[str, float]) -> str:
        kinds = [kind for kind in weights if self.index.entities[kind]]
        if not kinds:
            raise NoSuchEntities(f"the knowledge base has none of: {', '.join(weights)}")
        return self.rng.choices(kinds, [1.0 if self.even else weights[kind] for kind in kinds])[0]

    def _random_entity(self, weights: dict[str, float]) -> str:
        kind = self._random_kind(weights)
        features = self.index.holders(kind) if self.even else {}
        return self.rng.choice(features[self.rng.choice(list(features))] if features else self.index.entities[kind])

    def _subject(
        self, target: str, depth: int, joins: float, avoid: frozenset[str] = frozenset()
    ) -> Description | None:
        """A description whose only member is `target`, and that does not lead through the entities to `avoid`."""
        found = self.walker.described(target, depth, joins=joins, avoid=avoid)
        return found if found and found.members == (target,) else None

    def _unmentioned(self, target: str, subject: Description) -> dict[str, list[Statement]]:
        """The attributes of the target that are not in its description, by key."""
        mentioned = {condition.key for condition in subject.conditions}
        return {key: found for key, found in self.index.values(target).items() if key not in mentioned}

    def _pair(self, recipe: Recipe, *, qualified: bool) -> tuple[Description, Description, Statement] | None:
        """Head and tail of a relation's statement, each given by name or description, and the statement."""
        kinds = QUALIFIED_KINDS if qualified else PAIR_KINDS
        head = self._random_entity(kinds)
        statements = [s for s, side in self.index.kb.relations(head) if side == "forward"]
        statements = [s for s in statements if s.tail in self.index.kind and (s.qualifiers or not qualified)]
        if not statements:
            return None
        statement = self.rng.choice(statements)
        tail = statement.tail
        assert tail is not None
        depths = [recipe.depth, recipe.depth if self.rng.random() < 0.3 else 0]
        self.rng.shuffle(depths)
        subject = self._subject(head, depths[0], recipe.joins, frozenset({tail}))
        other = self._subject(tail, depths[1], recipe.joins, frozenset({head})) if subject else None
        return (subject, other, statement) if subject and other else None

    def _by_code(self) -> Draft | None:
        """The entity with an identifier, among all of its kind."""
        target = self._random_entity(CODE_KINDS)
        kind = self.index.kind[target]
        keys = [key for key in self.index.values(target) if key in IDENTIFIERS]
        if not keys:
            return None
        key = self.rng.choice(keys)
        value = self.index.values(target)[key][0].value
        assert value is not None
        condition = Condition(key, "=", value)
        members = self.index.keep(self.index.entities[kind], condition)
        subject = self.walker.unfiltered(kind).under(condition, members)
        return Draft("What", subject) if subject.single else None
