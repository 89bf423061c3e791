"""Compilation of a program for its answer only, done once, when the program is checked.

The steps that lead to the answer become a chain of calls, each with its prepared input: names of indices, parsed
values, and for a function of two results the chain of the second one. Two steps that often follow each other become one
call. Statements are passed on only if a QFilter* reads them, typed values only if a Verify* does.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from bgr.data.kb import compiled_steps
from bgr.data.kb.comparison import COMPARE, matcher, parse_target
from bgr.data.kb.compiled_steps import Chain, CompiledCall, Targets
from bgr.data.kb.indices import link_name, target_column
from bgr.errors import DataError

Call = tuple[str, tuple[int, ...], tuple[Any, ...]]
"""A step of a checked program: function, dependencies, parsed inputs."""

FAMILIES = ("QFilter", "FilterConcept", "Filter", "Verify")


def compile_program(plan: Sequence[Call]) -> Chain | None:
    """The chain of a checked program; ``None`` if a result, other than the last, is not read exactly once."""
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
    """The chain of a step's first input, extended by the step."""
    if second:
        return (*chain, (BINARY[family], (second[0], given)))
    before, last = chain[:-1], chain[-1:]
    run, text = last[0] if last else (None, "")
    if family == "Relate" and run is compiled_steps.find and reader != "QFilter":
        return (*before, (compiled_steps.find_relate, (link_name(*given), text)))
    if family == "FilterConcept" and run is compiled_steps.find_all:
        return (*before, (compiled_steps.members, given[0]))
    if family == "Verify" and run is compiled_steps.query_attribute:
        target, op = (*given, "=")[:2]
        prepared = (text, target_column(text, target, op), COMPARE[op], target.value, target, op)
        return (*before, (compiled_steps.verify_attribute, prepared))
    return (*chain, _call(family, given, reader))


def _call(family: str, given: tuple[Any, ...], reader: str) -> CompiledCall:
    facts = reader == "QFilter"
    run: Callable[..., Any]
    if family == "Filter":
        key, target, op = (*given, "=")[:3]
        run = compiled_steps.filter_with_facts if facts else compiled_steps.filter_attribute
        return run, (target_column(key, target, op), COMPARE[op], target.value, given)
    if family == "QFilter":
        key, target, op = (*given, "=")[:3]
        run = compiled_steps.filter_qualifier_with_facts if facts else compiled_steps.filter_qualifier
        return run, (key, matcher(target, op))
    if family == "Relate":
        return (compiled_steps.relate_with_facts, given) if facts else (compiled_steps.relate, link_name(*given))
    if family == "QueryAttrUnderCondition":
        key, qualifier, text = given
        verified = reader == "Verify"
        run = compiled_steps.values_under_condition if verified else compiled_steps.query_attribute_under_condition
        return run, (key, qualifier, _targets(text), text)
    if family == "QueryAttrQualifier":
        key, text, qualifier = given
        return compiled_steps.query_attribute_qualifier, (key, qualifier, _targets(text), text)
    if family == "Verify":
        return compiled_steps.verify, (*given, "=")[:2]
    return UNARY[family], given[0] if len(given) == 1 else given


def _family(function: str) -> str:
    """The shared name of functions that differ only in the type of their value."""
    return next((family for family in FAMILIES if function.startswith(family)), function)


def _targets(text: str) -> Targets:
    found = {}
    for kind in ("string", "quantity", "date"):
        try:
            found[kind] = matcher(parse_target(text, kind), "=")
        except DataError:
            continue
    return found


UNARY: dict[str, Callable[..., Any]] = {
    "FindAll": compiled_steps.find_all,
    "Find": compiled_steps.find,
    "FilterConcept": compiled_steps.filter_concept,
    "What": compiled_steps.what,
    "Count": compiled_steps.count,
    "SelectAmong": compiled_steps.select_among,
    "QueryAttr": compiled_steps.query_attribute,
}
"""Functions of at most one result whose input needs no preparation."""

BINARY: dict[str, Callable[..., Any]] = {
    "And": compiled_steps.intersect,
    "Or": compiled_steps.unite,
    "SelectBetween": compiled_steps.select_between,
    "QueryRelation": compiled_steps.query_relation,
    "QueryRelationQualifier": compiled_steps.query_relation_qualifier,
}
"""Functions of two results."""
