"""Comparison of a statement's value with a program's value, and parsing of the latter, as in KoPL."""

from __future__ import annotations

import datetime
import math
import operator
from collections.abc import Callable
from functools import partial
from typing import Any

from bgr.data.kb.schema import Value, parse_time
from bgr.errors import DataError
from bgr.utils.json_utils import shown

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
