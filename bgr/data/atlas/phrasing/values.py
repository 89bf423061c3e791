"""Verbalization of values: numbers with units, years and dates, each in several ways with exactly the same meaning."""

from __future__ import annotations

import datetime
import random

from bgr.data.atlas.phrasing.phrasebook import OPERATOR_SLOTS, Phrasebook
from bgr.data.kb.schema import Value

_MONTHS = (
    "January February March April May June July August September October November December"
).split()  # not strftime, which depends on the locale


def number_text(value: float | int, rng: random.Random) -> str:
    """``1250000`` as ``1,250,000`` or ``1.25 million``, the latter only if it is exact and short."""
    if isinstance(value, float) and not value.is_integer():
        return repr(value)
    whole = int(value)
    for size, word in ((10**9, "billion"), (10**6, "million")):
        short = f"{whole / size:g}"
        if whole >= size and len(short) <= 4 and round(float(short) * size) == whole and rng.random() < 0.7:
            return f"{short} {word}"
    return f"{whole:,}" if whole >= 10_000 or rng.random() < 0.5 else str(whole)


def quantity_text(book: Phrasebook, key: str, value: Value, rng: random.Random) -> str:
    """A quantity with its unit; a duration of whole hours may be given in hours."""
    assert isinstance(value.value, int | float)
    if value.unit == "minute" and value.value % 60 == 0 and rng.random() < 0.3:
        hours = int(value.value // 60)
        return f"{hours} hour{'s' if hours > 1 else ''}"
    number = number_text(value.value, rng)
    if value.unit == "1":
        patterns = book.values["unitless"].get(key, ["{n}"])
    else:
        patterns = book.values["units"].get(value.unit, ["{n} " + value.unit])
    return rng.choice(patterns).replace("{n}", number)


def date_text(book: Phrasebook, date: datetime.date, rng: random.Random) -> str:
    """A date, in words or in ISO form."""
    words = {
        "day": str(date.day),
        "day_th": f"{date.day}{_ordinal(date.day)}",
        "month": _MONTHS[date.month - 1],
        "year": str(date.year),
        "iso": date.isoformat(),
    }
    text: str = rng.choice(book.values["dates"]["formats"])
    for name, word in words.items():
        text = text.replace("{" + name + "}", word)
    return text


def time_text(book: Phrasebook, value: Value, op: str, rng: random.Random) -> str:
    """A year or date with its preposition: ``in 1963``, ``before 5 May 1963``."""
    slot = OPERATOR_SLOTS[op]
    if isinstance(value.value, datetime.date):
        template: str = rng.choice(book.values["dates"][slot])
        return template.replace("{d}", date_text(book, value.value, rng))
    template = rng.choice(book.values["years"][slot])
    return template.replace("{y}", str(value.value))


def value_text(book: Phrasebook, key: str, value: Value, op: str, rng: random.Random) -> str:
    """Any value as it is written in an attribute's template; times have their preposition."""
    if value.type == "quantity":
        return quantity_text(book, key, value, rng)
    if value.type == "string":
        return str(value)
    return time_text(book, value, op, rng)


def _ordinal(day: int) -> str:
    return "th" if 10 < day < 14 else {1: "st", 2: "nd", 3: "rd"}.get(day % 10, "th")
