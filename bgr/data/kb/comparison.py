"""Comparison of a statement's value with a program's value, and parsing of the latter, as in KoPL.

Sorted columns of an attribute key give the same results for many entities at once, by binary search.
"""

from __future__ import annotations

import datetime
import math
import operator
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable
from functools import partial
from typing import Any, TypeVar

from bgr.data.kb.schema import Statement, Value, parse_time
from bgr.errors import DataError
from bgr.utils.json_utils import shown

T = TypeVar("T")
Compare = Callable[[Any, Any], bool]

COMPARE: dict[str, Compare] = {
    "=": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    ">": operator.gt,
}
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
        return partial(_string_fits, compare, goal)
    if target.type == "quantity":
        return partial(_quantity_fits, compare, goal, target.unit)
    if target.type == "year":
        return partial(_lies_in_year, compare, goal)
    if op in ("=", "!="):
        return partial(_time_fits, compare, goal)
    return partial(_stands_in_order, compare, goal, year_of(target))


def matches(value: Value, target: Value, op: str) -> bool:
    """True if ``value op target`` holds, see `matcher`."""
    return matcher(target, op)(value)


def _string_fits(compare: Compare, goal: Any, value: Value) -> bool:
    return value.type == "string" and compare(value.value, goal)


def _quantity_fits(compare: Compare, goal: Any, unit: str, value: Value) -> bool:
    return value.unit == unit and value.type == "quantity" and compare(value.value, goal)


def _lies_in_year(compare: Compare, goal: Any, value: Value) -> bool:
    return value.type in TIMES and compare(year_of(value), goal)


def _time_fits(compare: Compare, goal: Any, value: Value) -> bool:
    return value.type in TIMES and compare(value.value, goal)


def _stands_in_order(compare: Compare, goal: Any, year: int, value: Value) -> bool:
    return compare(value.value, goal) if value.type == "date" else value.type == "year" and compare(value.value, year)


def year_of(value: Value) -> int:
    """The year of a date or of a year."""
    return value.value.year if isinstance(value.value, datetime.date) else value.value  # type: ignore[return-value]


def parse_target(text: str, kind: str) -> Value:
    """Parse a value of a program.

    Args:
        text: for a quantity ``number`` or ``number unit``; for a date or year, either of the two.
        kind: ``string``, ``quantity``, ``date`` or ``year``; the last two are read alike, as in KoPL.

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
        raise DataError(f"not a quantity: {shown(text)}, expected a number, or a number, a space and a unit")
    return Value("quantity", value, unit or "1")


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
        if operator == "<":
            return self.statements[:low]
        if operator == ">":
            return self.statements[high:]
        return self.statements[:low] + self.statements[high:]


class Column:
    """All statements of one attribute key, indexed by value type; gives the results of `comparison.matches`."""

    def __init__(self, statements: Iterable[Statement]) -> None:
        found = [(statement, statement.value) for statement in statements if statement.value is not None]
        strings = [(s, v.value) for s, v in found if v.type == "string"]
        times = [(s, v) for s, v in found if v.type in TIMES]
        dates = [(s, v.value) for s, v in times if v.type == "date"]
        years = [(s, v.value) for s, v in times if v.type == "year"]
        quantities: dict[str, list[tuple[Statement, Any]]] = {}
        for statement, value in found:
            if value.type == "quantity":
                quantities.setdefault(value.unit, []).append((statement, value.value))
        self._strings: dict[Any, list[Statement]] = {}
        for statement, text in strings:
            self._strings.setdefault(text, []).append(statement)
        self._quantities = {unit: SortedColumn(pairs) for unit, pairs in quantities.items()}
        self._all_by_year = SortedColumn((s, year_of(v)) for s, v in times)
        self._dates, self._years = SortedColumn(dates), SortedColumn(years)
        groups = {("quantity", unit): pairs for unit, pairs in quantities.items()}
        groups |= {("string", "1"): strings, ("year", "1"): [(s, year_of(v)) for s, v in times]}
        groups["date", "1"] = dates
        self._mixed = bool(years)
        single = len({s.head for s, _ in found}) == len(found)
        self._single = {name: _single_values(pairs) for name, pairs in groups.items()} if single else None
        self._multi = {} if single else {name: _multi_values(pairs) for name, pairs in groups.items()}

    def single_value_columns(self) -> dict[tuple[str, str], dict[str, Any]]:
        """Kind and unit of a target to the result of `single_values`; empty if a node has several statements."""
        return self._with_ordered_dates(self._single or {})

    def multi_value_columns(self) -> dict[tuple[str, str], dict[str, list[tuple[Any, Statement]]]]:
        """Kind and unit of a target to the result of `multi_values`; empty if no node has several statements."""
        return self._with_ordered_dates(self._multi)

    def _with_ordered_dates(self, groups: dict[tuple[str, str], T]) -> dict[tuple[str, str], T]:
        """Add the kind ``date in order``, for dates under any operator but ``=``, unless there are years too."""
        return groups if self._mixed or not groups else {**groups, ("date in order", "1"): groups["date", "1"]}

    def single_values(self, target: Value, op: str) -> dict[str, Any] | None:
        """Node to plain value for every value that is comparable with `target`.

        ``None`` if comparing the plain values is not enough: a node has several statements, or a date must be compared
        with dates and years.
        """
        if self._single is None or self._needs_years(target, op):
            return None
        return self._single.get((target.type, target.unit), {})

    def multi_values(self, target: Value, op: str) -> dict[str, list[tuple[Any, Statement]]] | None:
        """The counterpart of `single_values` for several statements: node to plain values, each with its statement."""
        if self._single is not None or self._needs_years(target, op):
            return None
        return self._multi.get((target.type, target.unit), {})

    def _needs_years(self, target: Value, op: str) -> bool:
        """True for a date that has to be compared with years too; no year equals a date."""
        return target.type == "date" and self._mixed and op != "="

    def select(self, target: Value, operator: str, limit: int | None = None) -> list[Statement] | None:
        """The statements whose value fulfills ``value operator target``, in the order of the file.

        ``None`` if there are more than `limit`: testing each node is then less work than sorting the statements.
        """
        found = self._select(target, operator)
        if limit is not None and len(found) > limit:
            return None
        found.sort(key=_number)
        return found

    def _select(self, target: Value, operator: str) -> list[Statement]:
        if target.type == "string":
            if operator == "=":
                return list(self._strings.get(target.value, ()))
            return [s for text, found in self._strings.items() if text != target.value for s in found]
        if target.type == "quantity":
            column = self._quantities.get(target.unit)
            return column.select(target.value, operator) if column else []
        if target.type == "year":
            return self._all_by_year.select(target.value, operator)
        found = self._dates.select(target.value, operator)
        # a year never equals a date; it is before or after the date's year
        if operator == "!=":
            return found + self._years.statements
        return found if operator == "=" else found + self._years.select(year_of(target), operator)


def _single_values(pairs: Iterable[tuple[Statement, Any]]) -> dict[str, Any]:
    # equal values share one object, so that the few distinct ones stay in the processor's cache
    shared: dict[Any, Any] = {}
    return {statement.head: shared.setdefault(value, value) for statement, value in pairs}


def _multi_values(pairs: Iterable[tuple[Statement, Any]]) -> dict[str, list[tuple[Any, Statement]]]:
    by_node: dict[str, list[tuple[Any, Statement]]] = {}
    for statement, value in pairs:
        by_node.setdefault(statement.head, []).append((value, statement))
    return by_node


def _number(statement: Statement) -> int:
    return statement.number
