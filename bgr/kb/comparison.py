"""How KoPL compares a statement's value with a program's value, and how it reads the latter."""

from __future__ import annotations

import datetime
import math

from bgr.errors import DataError
from bgr.kb.schema import Value, parse_time

OPERATORS = ("=", "!=", "<", ">")


def comparable(value: Value, target: Value) -> bool:
    """Strings with strings, quantities of one unit, dates and years with each other."""
    if value.type in ("string", "quantity"):
        return value.type == target.type and value.unit == target.unit
    return target.type in ("date", "year")


def matches(value: Value, target: Value, operator: str) -> bool:
    """Whether ``value operator target`` holds; false for values that cannot be compared.

    ``=`` between times means that `target` contains `value`: 1960-02-01 lies in 1960, but 1960 not in 1960-02-01.
    ``<`` and ``>`` between a date and a year compare years.
    """
    if not comparable(value, target):
        return False
    if operator in ("=", "!="):
        return _equal(value, target) == (operator == "=")
    a, b = value.value, target.value
    if value.type != target.type:
        a, b = year_of(value), year_of(target)
    return a < b if operator == "<" else a > b  # type: ignore[operator]


def _equal(value: Value, target: Value) -> bool:
    if target.type == "year":
        return year_of(value) == target.value
    return value.type == target.type and value.value == target.value


def year_of(value: Value) -> int:
    """The year of a date or of a year."""
    return value.value.year if isinstance(value.value, datetime.date) else value.value  # type: ignore[return-value]


def parse_target(text: str, kind: str) -> Value:
    """The value a program names.

    Args:
        text: for a quantity ``number`` or ``number unit``; for a date or year either of the two.
        kind: ``string``, ``quantity``, ``date`` or ``year``; the last two are read alike, as in KoPL.

    Raises:
        DataError: the text is not of that kind.
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
        raise DataError(f"not a quantity: {text!r}, expected a number, a blank and a unit (no unit: the number alone)")
    return Value("quantity", value, unit or "1")
