"""Verbalization of values: dates in words, thousands separators, units in the plural."""

from __future__ import annotations

import datetime
import re

from bgr.data.kb.schema import Value

MONTHS = (
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
)
DATE_STYLES = ("day first", "month first", "iso")
# written after the number without a space, or before it
SYMBOLS = {"percent": ("", "%"), "United States dollar": ("$", ""), "square kilometre": ("", " km²")}
IRREGULAR = {
    "foot": "feet",
    "inch": "inches",
    "hertz": "hertz",
    "lux": "lux",
    "siemens": "siemens",
    "percent": "percent",
}


def value_text(value: Value, style: int = 0) -> str:
    """A value as it is written in a sentence, never rounded; `style` (any integer) selects one of its forms."""
    if isinstance(value.value, datetime.date):
        return date_text(value.value, DATE_STYLES[style % len(DATE_STYLES)])
    if value.type == "quantity" and isinstance(value.value, int | float):
        return quantity_text(value.value, value.unit, symbol=style % 2 == 1)
    if value.type == "year" and isinstance(value.value, int) and value.value < 0:
        return f"{-value.value} BC"
    return str(value.value)


def when_text(value: Value, style: int = 0) -> str:
    """A date or year with its preposition: `in 1957`, `on 16 February 1957`."""
    return f"{'on' if value.type == 'date' else 'in'} {value_text(value, style)}"


def date_text(date: datetime.date, style: str) -> str:
    """A date in one of `DATE_STYLES`."""
    month = MONTHS[date.month - 1]
    if style == "iso":
        return date.isoformat()
    if style == "day first":
        return f"{date.day} {month} {date.year}"
    return f"{month} {date.day}, {date.year}"


def number_text(number: float | int) -> str:
    """A number with all digits and thousands separators."""
    if isinstance(number, int) or number.is_integer():
        return f"{int(number):,}"
    text = f"{number:,.10f}".rstrip("0")
    # numbers that ten decimals do not represent are written in Python's shortest form
    return text if float(text.replace(",", "")) == number else repr(number)


def quantity_text(number: float | int, unit: str, *, symbol: bool = False) -> str:
    """A quantity with its unit, `96 minutes`, `$1,234,567` or `87%`; the unit `1` is not written."""
    digits = number_text(number)
    if unit == "1":
        return digits
    if symbol and unit in SYMBOLS:
        before, after = SYMBOLS[unit]
        return f"{before}{digits}{after}"
    return f"{digits} {unit if number == 1 else plural_unit(unit)}"


def plural_unit(unit: str) -> str:
    """The plural of a unit: `grams per cubic centimetre`, `degrees Celsius`."""
    head, per, rest = unit.partition(" per ")
    if head.startswith("degree "):
        return f"degrees {head.removeprefix('degree ')}{per}{rest}"
    *before, last = head.split(" ")
    if last in IRREGULAR:
        last = IRREGULAR[last]
    elif not last.endswith("s") and last.isalpha():
        last += "s"
    return " ".join([*before, last]) + per + rest


_VOWEL_SOUND = re.compile(
    r"(?!uni|us\b|uk\b|uga|ukr|uru|uto|euro|ewe|one\b|once)([aeiou]|8|1[18](?!\d)|hour|heir|honest|[fhlmnrsx]\b)", re.I
)


def with_article(text: str) -> str:
    """The text after `a` or `an`, according to the sound of its first letters."""
    return f"{'an' if _VOWEL_SOUND.match(text) else 'a'} {text}"
