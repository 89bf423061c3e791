"""What a question counts, and the facts in which it is found: the steps of its program, over the statements of its
evidence alone."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from bgr.data.kb.schema import Fact

Found = dict[str, frozenset[int]]
"""Entities, each with the facts in which a step found it."""


def counted_facts(
    program: Sequence[Mapping[str, Any]], told: Sequence[Sequence[Fact]], names: Mapping[str, str]
) -> Found:
    """The entities that the last step counts, each with its facts; none if a step is unknown.

    All evidence holds, so the steps that only narrow the entities by a value or qualifier compare nothing. Entities of
    both sides of *and* have the facts of both.

    Args:
        program: steps of KoPL, each after those that it uses.
        told: the statements of each fact.
        names: names of the entities, by default their ids.
    """
    stack: list[Found] = []
    for step in program[:-1]:
        function, inputs = step["function"], [str(one) for one in step["inputs"]]
        if function == "Find":
            ends = {end for facts in told for fact in facts for end in (fact.head, fact.tail) if end is not None}
            stack.append({end: frozenset() for end in ends if names.get(end, end) == inputs[0]})
        elif function == "FindAll":
            stack.append({fact.head: frozenset() for facts in told for fact in facts})
        elif function == "Relate" and stack:
            stack.append(_related(stack.pop(), told, inputs[0], forward="forward" in inputs[1:]))
        elif function in ("And", "Or") and len(stack) > 1:
            two, one = stack.pop(), stack.pop()
            entities = [end for end in one if end in two] if function == "And" else [*one, *two]
            stack.append({end: one.get(end, frozenset()) | two.get(end, frozenset()) for end in entities})
        elif function in ("FilterStr", "FilterNum", "FilterDate", "FilterYear") and stack:
            about = _by_entity(told, lambda fact, key=inputs[0]: fact.head if fact.predicate == key else None)  # type: ignore[misc]
            stack.append({end: facts | about[end] for end, facts in stack.pop().items() if end in about})
        elif not (function == "FilterConcept" or function.startswith("QFilter")) or not stack:
            return {}
    return stack.pop() if len(stack) == 1 else {}


def _related(starts: Found, told: Sequence[Sequence[Fact]], relation: str, *, forward: bool) -> Found:
    """What a relation leads to. Facts of the entities before are no longer theirs."""

    def end(fact: Fact) -> str | None:
        start, found = (fact.head, fact.tail) if forward else (fact.tail, fact.head)
        return found if fact.predicate == relation and start in starts and fact.tail is not None else None

    return _by_entity(told, end)


def _by_entity(told: Sequence[Sequence[Fact]], entity: Callable[[Fact], str | None]) -> Found:
    found: Found = {}
    for number, facts in enumerate(told):
        for fact in facts:
            one = entity(fact)
            if one is not None:
                found[one] = found.get(one, frozenset()) | {number}
    return found
