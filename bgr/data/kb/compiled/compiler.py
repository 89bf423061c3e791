"""A program prepared for its answer alone, once, when it is checked.

The steps that lead to the answer become a chain of calls, each with its input put together: names of indices, parsed
values, and for a function of two results the chain of the second one. Two steps that often follow each other become one
call. Statements are carried along only where a QFilter* reads them, typed values only where a Verify* does.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from bgr.data.kb.comparison import COMPARE, matcher, parse_target
from bgr.data.kb.compiled import compiled_answer_steps as lean_answer_steps
from bgr.data.kb.compiled import compiled_node_steps as lean_node_steps
from bgr.data.kb.compiled.compiled_program import Chain, LeanCall
from bgr.data.kb.indices import link_name, target_column
from bgr.data.kb.schema import Value
from bgr.errors import DataError

Call = tuple[str, tuple[int, ...], tuple[Any, ...]]
"""A step of a checked program: function, dependencies, parsed inputs."""

LONGEST = 256
FAMILIES = ("QFilter", "FilterConcept", "Filter", "Verify")


def lean_plan(plan: Sequence[Call]) -> Chain | None:
    """The chain of a checked program; ``None`` where a result is read twice or, but for the last, not at all.

    ``None`` also for a program so long that its chains could lie deeper in each other than Python's stack allows.
    """
    if len(plan) > LONGEST:
        return None
    readers: list[list[str]] = [[] for _ in plan]
    for function, before, _ in plan:
        for dependency in before:
            readers[dependency].append(function)
    if any(len(found) != 1 for found in readers[:-1]):
        return None
    chains: dict[int, Chain] = {}
    for index, (function, before, given) in enumerate(plan):
        reader = readers[index][0] if readers[index] else ""
        first, *second = [chains.pop(d) for d in before] or [()]
        chains[index] = _extended(first, second, _family(function), given, _family(reader))
    return chains[len(plan) - 1]


def _extended(chain: Chain, second: Sequence[Chain], family: str, given: tuple[Any, ...], reader: str) -> Chain:
    """The chain that led to a step's first input with that step at its end."""
    if second:
        return (*chain, (TWO[family], (second[0], given)))
    facts = reader == "QFilter"
    before, last = chain[:-1], chain[-1:]
    run, text = last[0] if last else (None, "")
    if family == "Relate" and run is lean_node_steps.find and not facts:
        return (*before, (lean_node_steps.find_relate, (link_name(*given), text)))
    if family == "FilterConcept" and run is lean_node_steps.find_all:
        return (*before, (lean_node_steps.members, given[0]))
    if family == "Verify" and run is lean_answer_steps.query_attribute:
        target, op = (*given, "=")[:2]
        together = (text, target_column(text, target, op), COMPARE[op], target.value, target, op)
        return (*before, (lean_answer_steps.verify_attribute, together))
    return (*chain, _call(family, given, facts, reader))


def _call(family: str, given: tuple[Any, ...], facts: bool, reader: str) -> LeanCall:
    """One call; `facts`: a QFilter* reads its statements."""
    if family == "Filter":
        key, target, op = (*given, "=")[:3]
        run = lean_node_steps.filter_with_facts if facts else lean_node_steps.filter_attribute
        return run, (target_column(key, target, op), COMPARE[op], target.value, given)
    if family == "QFilter":
        key, target, op = (*given, "=")[:3]
        ids, pairs = lean_node_steps.filter_qualifier, lean_node_steps.filter_qualifier_with_facts
        return pairs if facts else ids, (key, matcher(target, op))
    if family == "Relate":
        return (lean_node_steps.relate_with_facts, given) if facts else (lean_node_steps.relate, link_name(*given))
    if family == "QueryAttrUnderCondition":
        key, qualifier, text = given
        plain, values = lean_answer_steps.query_attribute_under_condition, lean_answer_steps.values_under_condition
        return values if reader == "Verify" else plain, (key, qualifier, _targets(text), text)
    if family == "QueryAttrQualifier":
        key, text, qualifier = given
        return lean_answer_steps.query_attribute_qualifier, (key, qualifier, _targets(text), text)
    if family == "Verify":
        return lean_answer_steps.verify, (*given, "=")[:2]
    return ONE[family], given[0] if len(given) == 1 else given


def _family(function: str) -> str:
    """Functions that differ in the type of their value alone share a name."""
    return next((family for family in FAMILIES if function.startswith(family)), function)


def _targets(text: str) -> Mapping[str, Callable[[Value], bool]]:
    """The tests for equality with a text, by the type it is read as, where it can be."""
    found = {}
    for kind in ("string", "quantity", "date"):
        try:
            found[kind] = matcher(parse_target(text, kind), "=")
        except DataError:
            continue
    return found


ONE: dict[str, Callable[..., Any]] = {
    "FindAll": lean_node_steps.find_all,
    "Find": lean_node_steps.find,
    "FilterConcept": lean_node_steps.filter_concept,
    "What": lean_answer_steps.what,
    "Count": lean_answer_steps.count,
    "SelectAmong": lean_answer_steps.select_among,
    "QueryAttr": lean_answer_steps.query_attribute,
}
"""Functions of one result whose input needs no preparation."""

TWO: dict[str, Callable[..., Any]] = {
    "And": lean_node_steps.intersect,
    "Or": lean_node_steps.unite,
    "SelectBetween": lean_answer_steps.select_between,
    "QueryRelation": lean_answer_steps.query_relation,
    "QueryRelationQualifier": lean_answer_steps.query_relation_qualifier,
}
"""Functions of two results."""
