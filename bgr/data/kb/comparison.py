"""Comparison of a statement's value with a program's value, and parsing of the latter, as in KoPL.

Sorted columns of an attribute key give the same results for many entities at once, by binary search.
"""

from __future__ import annotations

import datetime
import math
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable
from functools import partial
from operator import attrgetter, eq, gt, lt, ne
from typing import Any

from bgr.data.kb.schema import NO_UNIT, Statement, Value, parse_time
from bgr.errors import DataError
from bgr.utils.json_utils import repr_short

Compare = Callable[[Any, Any], bool]

COMPARE: dict[str, Compare] = {"=": eq, "!=": ne, "<": lt, ">": gt}
OPERATORS = tuple(COMPARE)
TIMES = ("date", "year")


def matcher(target: Value, op: str) -> Callable[[Value], bool]:
    """A function that tests ``value op target``; false for values that cannot be compared with `target`.

    Strings compare with strings, quantities with those of their unit, dates and years with each other. ``=`` between
    times means that `target` contains the value: 1960-02-01 is in 1960, but 1960 is not in 1960-02-01. ``<`` and ``>``
    between a date and a year compare years.
    """
    compare, goal = COMPARE[op], target.value
    if target.type == "string":
        return partial(_type_fits, compare, goal, ("string",))
    if target.type == "quantity":
        return partial(_quantity_fits, compare, goal, target.unit)
    if target.type == "year":
        return partial(_lies_in_year, compare, goal)
    if op in ("=", "!="):
        return partial(_type_fits, compare, goal, TIMES)
    return partial(_stands_in_order, compare, goal, year_of(target))


def matches(value: Value, target: Value, op: str) -> bool:
    """True if ``value op target`` holds, see `matcher`."""
    return matcher(target, op)(value)


# named functions, because programs are pickled with their matchers
def _type_fits(compare: Compare, goal: Any, types: tuple[str, ...], value: Value) -> bool:
    return value.type in types and compare(value.value, goal)


def _quantity_fits(compare: Compare, goal: Any, unit: str, value: Value) -> bool:
    return value.unit == unit and value.type == "quantity" and compare(value.value, goal)


def _lies_in_year(compare: Compare, goal: Any, value: Value) -> bool:
    return value.type in TIMES and compare(year_of(value), goal)


def _stands_in_order(compare: Compare, goal: Any, year: int, value: Value) -> bool:
    return compare(value.value, goal) if value.type == "date" else value.type == "year" and compare(value.value, year)


def year_of(value: Value) -> int:
    """The year of a date or of a year."""
    return value.value.year if isinstance(value.value, datetime.date) else value.value  # type: ignore[return-value]


def parse_target(text: str, kind: str) -> Value:
    """Parse a value of a program.

    A quantity is written ``number`` or ``number unit``; dates and years are read alike, as in KoPL.

    Raises:
        DataError: the text does not have that kind.
    """
    if kind == "string":
        return Value("string", text)
    if kind != "quantity":
        return parse_time(text)
    number, _, unit = text.partition(" ")
    try:
        value = float(number)
    except ValueError:
        value = math.nan
    if math.isnan(value):
        raise DataError(f"not a quantity: {repr_short(text)}, expected a number, or a number, a space and a unit")
    return Value("quantity", value, unit or NO_UNIT)


class SortedColumn:
    """Statements sorted by a comparable key of their values."""

    def __init__(self, pairs: Iterable[tuple[Statement, Any]]) -> None:
        ordered = sorted(pairs, key=lambda pair: pair[1])
        self.keys = [key for _, key in ordered]
        self.statements = [statement for statement, _ in ordered]

    def select(self, target: Any, operator: str) -> list[Statement]:
        low, high = bisect_left(self.keys, target), bisect_right(self.keys, target)
        if operator == "=":
            return self.statements[low:high]
        if operator == "!=":
            return self.statements[:low] + self.statements[high:]
        return self.statements[:low] if operator == "<" else self.statements[high:]


class Column:
    """All statements of one attribute key, indexed by value type; gives the results of `matches`.

    Attributes:
        single: by `comparable` kind and unit, node to plain value; empty if a node has several statements.
        multi: the same for several statements, node to pairs of plain value and statement; empty if no node has them.
    """

    def __init__(self, statements: Iterable[Statement]) -> None:
        found = [(statement, statement.value) for statement in statements if statement.value is not None]
        times = [(s, v) for s, v in found if v.type in TIMES]
        groups: dict[tuple[str, str], list[tuple[Statement, Any]]] = {
            ("string", NO_UNIT): [(s, v.value) for s, v in found if v.type == "string"],
            ("year", NO_UNIT): [(s, year_of(v)) for s, v in times],
            ("date", NO_UNIT): [(s, v.value) for s, v in times if v.type == "date"],
        }
        for statement, value in found:
            if value.type == "quantity":
                groups.setdefault((value.type, value.unit), []).append((statement, value.value))
        self._strings: dict[Any, list[Statement]] = {}
        for statement, text in groups["string", NO_UNIT]:
            self._strings.setdefault(text, []).append(statement)
        self._sorted = {target: SortedColumn(pairs) for target, pairs in groups.items() if target[0] != "string"}
        self._years = SortedColumn((s, v.value) for s, v in times if v.type == "year")
        alone = len({s.head for s, _ in found}) == len(found)
        self.single = {target: _single_values(pairs) for target, pairs in groups.items()} if alone else {}
        self.multi = {} if alone else {target: _multi_values(pairs) for target, pairs in groups.items()}
        if not self._years.statements:
            for columns in filter(None, (self.single, self.multi)):
                columns["date in order", NO_UNIT] = columns["date", NO_UNIT]

    def select(self, target: Value, operator: str, limit: int | None = None) -> list[Statement] | None:
        """The statements whose value fulfills ``value operator target``, in the order of the file.

        ``None`` if there are more than `limit`: testing each node is then less work than sorting the statements.
        """
        found = self._select(target, operator)
        if limit is not None and len(found) > limit:
            return None
        found.sort(key=attrgetter("number"))
        return found

    def _select(self, target: Value, operator: str) -> list[Statement]:
        if target.type == "string":
            if operator == "=":
                return list(self._strings.get(target.value, ()))
            return [s for text, found in self._strings.items() if text != target.value for s in found]
        column = self._sorted.get((target.type, target.unit))
        found = column.select(target.value, operator) if column else []
        # a year never equals a date; it is before or after the date's year
        if target.type != "date" or operator == "=":
            return found
        return found + (self._years.statements if operator == "!=" else self._years.select(year_of(target), operator))


def comparable(target: Value, op: str) -> str:
    """The kind of the values that a filter compares with a target. The order of dates needs a column without years."""
    return "date in order" if target.type == "date" and op != "=" else target.type


def _single_values(pairs: Iterable[tuple[Statement, Any]]) -> dict[str, Any]:
    # equal values share one object, so that the few distinct ones stay in the processor's cache
    shared: dict[Any, Any] = {}
    return {statement.head: shared.setdefault(value, value) for statement, value in pairs}


def _multi_values(pairs: Iterable[tuple[Statement, Any]]) -> dict[str, tuple[tuple[Any, Statement], ...]]:
    by_node: dict[str, list[tuple[Any, Statement]]] = {}
    for statement, value in pairs:
        by_node.setdefault(statement.head, []).append((value, statement))
    return {node: tuple(found) for node, found in by_node.items()}
