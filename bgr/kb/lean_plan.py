"""A program prepared for its answer alone, once, when it is checked.

Every step becomes one flat call: what it runs, the numbers of the results it reads, its input with names of indices put
together. A Find that only a Relate reads becomes one call with it. Facts are asked for only where a QFilter* reads
them, typed values only where a Verify* does.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from bgr.kb.comparison import COMPARE
from bgr.kb.index_names import link_name, target_column

LeanCall = tuple[str, int, int, Any]
"""What to run, the two results it reads (-1: none), its input."""
WITH_FACTS, FOR_VALUES = " with facts", " for values"


def lean_plan(plan: Sequence[tuple[str, tuple[int, ...], tuple[Any, ...]]]) -> tuple[LeanCall, ...] | None:
    """The calls of a checked program; ``None`` where one result is read with its facts and without."""
    readers: list[list[int]] = [[] for _ in plan]
    for index, (_, before, _) in enumerate(plan):
        for dependency in before:
            readers[dependency].append(index)
    qualified = [[plan[r][0].startswith("QFilter") for r in found] for found in readers]
    if any(any(kinds) and not all(kinds) for kinds in qualified):
        return None
    calls: list[LeanCall] = []
    place: dict[int, int] = {}
    for index, (function, before, given) in enumerate(plan):
        reader = readers[index][0] if len(readers[index]) == 1 else -1
        if function == "Find" and reader >= 0 and plan[reader][0] == "Relate" and not any(qualified[reader]):
            continue
        first, second = [*(place.get(d, -1) for d in before), -1, -1][:2]
        if before and first < 0:
            (name,) = plan[before[0]][2]
            calls.append(("FindRelate", -1, -1, (link_name(*given), name)))
        else:
            name, wanted = _call(function, given, any(qualified[index]), bool(readers[index]))
            calls.append((name, first, second, wanted))
        place[index] = len(calls) - 1
    return tuple(calls)


def _call(function: str, given: tuple[Any, ...], facts: bool, read: bool) -> tuple[str, Any]:
    """The name of what to run, and its input."""
    family = function
    for start in ("QFilter", "FilterConcept", "Filter", "Verify"):
        if function.startswith(start):
            family = start
            break
    if family == "Filter":
        key, target, op = (*given, "=")[:3]
        return family + facts * WITH_FACTS, (target_column(key, target, op), COMPARE[op], target.value, given)
    if facts:
        return family + WITH_FACTS, given
    if family == "Relate":
        return family, link_name(*given)
    if read and family.startswith("QueryAttr"):
        return family + FOR_VALUES, given
    return family, given[0] if len(given) == 1 and family != "Verify" else given
