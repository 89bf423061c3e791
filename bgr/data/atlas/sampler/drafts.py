"""Sampling of drafts, one method for each asking strategy; ``None`` where the random choices lead to no draft."""

from __future__ import annotations

from collections.abc import Callable

from bgr.data.atlas.question_tree import Condition, Description, Draft
from bgr.data.atlas.sampler.recipes import Recipe
from bgr.data.atlas.sampler.sets import ATTRIBUTE_KINDS, NoSuchEntities, SetDrafts
from bgr.data.atlas.sampler.thresholds import IDENTIFIERS, round_between, usable_qualifiers
from bgr.data.kb.comparison import year_of
from bgr.data.kb.schema import Statement, Value

# weights of the kinds of entities that questions for a name are about
NAME_KINDS = {
    "film": 0.38, "human": 0.24, "country": 0.1, "city": 0.05, "airport": 0.03, "element": 0.05, "company": 0.04,
    "language": 0.03, "currency": 0.02, "region": 0.02, "continent": 0.01, "genre": 0.01, "time zone": 0.01,
    "state": 0.01,
}  # fmt: skip


class Drafter(SetDrafts):
    """Samples drafts by recipe; counting and selecting are inherited. All random choices come from `rng`."""

    def sample(self, recipe: Recipe) -> Draft | None:
        method: Callable[[Recipe], Draft | None] = getattr(self, recipe.strategy)
        try:
            return method(recipe)
        except NoSuchEntities:
            return None

    # -- query --------------------------------------------------------------------------------------------------------

    def what(self, recipe: Recipe) -> Draft | None:
        target = self._random_entity(NAME_KINDS)
        if recipe.form == "code":
            return self._by_code()
        subject = self._subject(target, recipe)
        return Draft("What", subject) if subject else None

    def query_attribute(self, recipe: Recipe) -> Draft | None:
        """QueryAttr, or QueryAttrUnderCondition if the key has several values or a qualifier to mention."""
        target = self._random_entity(ATTRIBUTE_KINDS)
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
        target = self._random_entity({"film": 0.6, "country": 0.4})
        subject = self._subject(target, recipe)
        known_keys = {condition.key for condition in subject.conditions} if subject else set()
        statements = [
            s for k, found in self.index.values(target).items() for s in found if s.qualifiers and k not in known_keys
        ]
        if subject is None or not statements:
            return None
        statement = self.rng.choice(statements)
        key, values = self.rng.choice(statement.qualifiers)
        if len(values) != 1 or key not in self.index.book.qualifiers["attributes"]:
            return None
        return Draft(
            "QueryAttrQualifier", subject, key=statement.predicate, value=statement.value, qualifier=(key, None)
        )

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
        target = self._random_entity(ATTRIBUTE_KINDS)
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
        """An operator and a value to test, true in half of the cases."""
        truth = self.rng.random() < 0.5
        pool = self.index.pool(key, value.unit)
        ops = [
            op for op, slot in (("=", "equal"), (">", "greater"), ("<", "less")) if self.index.book.attribute(key, slot)
        ]
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

    # -- parts --------------------------------------------------------------------------------------------------------

    def _attribute_draft(
        self, function: str, subject: Description, statement: Statement, several: bool, wanted: bool
    ) -> Draft | None:
        """The attribute's draft, with a condition if the key has several values or one is wanted."""
        usable = usable_qualifiers(self.index, statement)
        if not several and not (wanted and usable):
            return Draft(function, subject, key=statement.predicate, value=statement.value)
        if not usable:
            return None
        name = "QueryAttrUnderCondition" if function == "QueryAttr" else function
        asked = self.rng.choice(usable)
        return Draft(name, subject, key=statement.predicate, value=statement.value, qualifier=asked)

    def _pair(self, recipe: Recipe, *, qualified: bool) -> tuple[Description, Description, Statement] | None:
        """Head and tail of a relation's statement, each given by name or description, and the statement."""
        kinds = {"film": 0.5, "element": 0.5} if qualified else {"film": 0.7, "element": 0.1, "country": 0.2}
        head = self._random_entity(kinds)
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
        """A description of one end of a relation that does not lead through the other end."""
        found = self.walker.described(target, depth, joins=joins, avoid=frozenset({end}))
        return found if found and found.members == (target,) else None

    def _by_code(self) -> Draft | None:
        """The entity with an identifier, among all of its kind."""
        target = self._random_entity({"country": 0.3, "airport": 0.25, "element": 0.25, "state": 0.1, "film": 0.1})
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
