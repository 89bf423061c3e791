"""Questions before they have words: descriptions of entities as trees, and their KoPL programs."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from bgr.data.kb.program import SUFFIXES
from bgr.data.kb.schema import Value


@dataclass(frozen=True)
class Condition:
    """An attribute filter: ``key op value``, on statements that have `qualifier` if it is given."""

    key: str
    op: str
    value: Value
    qualifier: tuple[str, Value] | None = None


@dataclass(frozen=True)
class Link:
    """A relation followed from `base` in `direction`; `qualifier` is ``(key, op, value)``."""

    base: Description
    predicate: str
    direction: str
    qualifier: tuple[str, str, Value] | None = None


@dataclass(frozen=True)
class Description:
    """A set of entities as a question can describe it.

    It is given by a `name`; by one or more `links`, joined by `join`; by `options`, named entities of which one is
    chosen; or by none of these, for all entities of the kind.

    Args:
        kind: a kind of ``phrasing/kinds.yaml``.
        members: the ids of the entities, in the order of the knowledge base's statements.
        concept: name of the concept to keep (KoPL's FilterConcept), or ``None``.
        conditions: attribute filters, applied in order after everything else.
    """

    kind: str
    members: tuple[str, ...]
    name: str | None = None
    links: tuple[Link, ...] = ()
    join: str = "And"
    options: tuple[str, ...] = ()
    concept: str | None = None
    conditions: tuple[Condition, ...] = ()

    @property
    def single(self) -> bool:
        return len(self.members) == 1

    def names(self) -> list[str]:
        """All names in the description, its own and those of its parts."""
        inner = [name for link in self.links for name in link.base.names()]
        return [*([self.name] if self.name else []), *self.options, *inner]

    def under(self, condition: Condition, members: tuple[str, ...]) -> Description:
        """The description with one more filter."""
        return replace(self, conditions=(*self.conditions, condition), members=members)


@dataclass(frozen=True)
class Draft:
    """A question before it has words: the asking strategy (its KoPL function) and its arguments.

    Args:
        function: ``What``, ``Count``, ``QueryAttr`` … ; a Verify function is written ``Verify``.
        subject: the entities that the question is about.
        other: the second entity of SelectBetween, QueryRelation and QueryRelationQualifier.
        key: attribute key, or the predicate of QueryRelationQualifier.
        op: the direction of a Select (``greater``, ``largest`` …) or the operator of a Verify.
        value: the value that a Verify tests, or the attribute value of QueryAttrQualifier.
        qualifier: ``(key, value)`` of a condition; the value is ``None`` if the question asks for it.
    """

    function: str
    subject: Description
    other: Description | None = None
    key: str = ""
    op: str = ""
    value: Value | None = None
    qualifier: tuple[str, Value | None] | None = None

    def names(self) -> list[str]:
        return self.subject.names() + (self.other.names() if self.other else [])


class _Steps:
    """Writer of a program in KQA Pro's order: each branch in full before the next."""

    def __init__(self) -> None:
        self.steps: list[dict[str, Any]] = []

    def add(self, function: str, dependencies: list[int], *inputs: str) -> int:
        self.steps.append({"function": function, "dependencies": dependencies, "inputs": list(inputs)})
        return len(self.steps) - 1

    def describe(self, description: Description) -> int:
        at = self._source(description)
        if description.concept:
            at = self.add("FilterConcept", [at], description.concept)
        for condition in description.conditions:
            at = self.compare("Filter", at, condition.op, condition.value, condition.key)
            if condition.qualifier:
                at = self.compare("QFilter", at, "=", condition.qualifier[1], condition.qualifier[0])
        return at

    def _source(self, description: Description) -> int:
        if description.name is not None:
            return self.add("Find", [], description.name)
        if description.options:
            branches = [lambda name=name: self.add("Find", [], name) for name in description.options]
        elif description.links:
            branches = [lambda link=link: self._link(link) for link in description.links]
        else:
            return self.add("FindAll", [])
        at = branches[0]()
        for branch in branches[1:]:
            at = self.add("Or" if description.options else description.join, [at, branch()])
        return at

    def _link(self, link: Link) -> int:
        at = self.add("Relate", [self.describe(link.base)], link.predicate, link.direction)
        if link.qualifier is None:
            return at
        key, op, value = link.qualifier
        return self.compare("QFilter", at, op, value, key)

    def compare(self, family: str, at: int, op: str, value: Value, *keys: str) -> int:
        operator = [] if value.type == "string" else [op]
        return self.add(f"{family}{SUFFIXES[value.type]}", [at], *keys, str(value), *operator)


def to_program(draft: Draft) -> list[dict[str, Any]]:
    """The draft as a KoPL program in KQA Pro's form."""
    steps = _Steps()
    ends = [steps.describe(draft.subject)] + ([steps.describe(draft.other)] if draft.other else [])
    qualifier, asked = draft.qualifier or ("", None)
    if draft.function == "Verify":
        assert draft.value is not None
        condition = () if asked is None else (qualifier, str(asked))
        at = steps.add("QueryAttrUnderCondition" if condition else "QueryAttr", ends, draft.key, *condition)
        steps.compare("Verify", at, draft.op, draft.value)
        return steps.steps
    inputs = {
        "QueryAttr": [draft.key],
        "QueryAttrUnderCondition": [draft.key, qualifier, str(asked)],
        "QueryAttrQualifier": [draft.key, str(draft.value), qualifier],
        "QueryRelationQualifier": [draft.key, qualifier],
        "SelectBetween": [draft.key, draft.op],
        "SelectAmong": [draft.key, draft.op],
    }.get(draft.function, [])
    steps.add(draft.function, ends, *inputs)
    return steps.steps
