"""Quantities with their units and what a text says of them: *more than 90 minutes*, *60 percent or less*."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, field

from bgr.utils.quantities import MONTHS, Quantity, scaled_quantities

_UNITS = (
    ("minute", r"min(?:ute)?s?\b"),
    ("dollar", r"(?:(?:US|U\.S\.|United States|American) )?dollars?\b|USD\b"),
    ("percent", r"%|per ?cent\b"),
    ("", r"(?:points? )?(?:out )?of (?:100|a hundred)\b(?! reviews)|points?\b"),
    ("square kilometre", r"(?:square|sq\.?) (?:kilomet(?:re|er)s?|km)\b|km²|km2\b"),
    ("gram per cubic centimetre", r"grams? per cubic centimet(?:re|er)\b|g/cm³|g/cm3\b"),
    ("kilometre", r"(?:kilomet(?:re|er)s?|km)\b"),
    ("mile", r"miles?\b"),
    ("foot", r"(?:feet|foot|ft)\b"),
    ("metre", r"(?:met(?:re|er)s?|m)\b"),
    ("dalton", r"(?:(?i:daltons?)|Da|atomic mass units?|u|amu)\b"),
    ("kelvin", r"(?:(?i:kelvins?)|K)\b"),
    ("degree", r"degrees?\b|°"),
)
_UNIT = re.compile("[ -]?(?:" + "|".join(f"({pattern})" for _, pattern in _UNITS) + ")")
_CURRENCY = re.compile(r"(?:US ?)?\$ ?$")

CUE = 200
"""Characters before a number in which its three words are; longer words are cut."""


@dataclass(frozen=True)
class Measure:
    """A number or a date with what it says of its key.

    Args:
        value: the number in the base unit (hours count as minutes), or a date as ``yyyy-mm-dd``.
        unit: canonical name of the unit; empty if there is none.
        op: ``=``, ``<``, ``>``, ``<=``, ``>=``, ``!=``, or ``~`` for about.
        cue: the three words before it, in lower case.
        start, end: the characters of its comparison, number and unit.
    """

    value: float | str
    unit: str
    op: str
    cue: str
    start: int = field(default=0, compare=False)
    end: int = field(default=0, compare=False)

    def same_value(self, other: Measure) -> bool:
        """True if both have equal values and units."""
        if isinstance(self.value, str) or isinstance(other.value, str):
            return self.value == other.value
        return self.unit == other.unit and math.isclose(self.value, other.value, rel_tol=1e-9)


def measures(text: str) -> list[Measure]:
    """The quantities of a text, from left to right."""
    found: list[Measure] = []
    end = 0
    for quantity in scaled_quantities(text):
        if quantity.start < end:  # the 100 of "out of 100"
            continue
        unit, end = _unit(text, quantity)
        op, start = _op(text, quantity.start, end)
        cue = " ".join(re.findall(r"\w+", text[max(0, quantity.start - CUE) : quantity.start].lower())[-3:])
        found.append(Measure(quantity.text if quantity.date else quantity.size, unit, op, cue, start, end))
    return found


def _unit(text: str, quantity: Quantity) -> tuple[str, int]:
    """The unit of a quantity, and where it ends."""
    end = quantity.stop
    if quantity.date or quantity.minutes:
        return "minute" if quantity.minutes else "", end
    if match := _UNIT.match(text, end):
        return _UNITS[(match.lastindex or 1) - 1][0], match.end()
    return "dollar" if _CURRENCY.search(text[max(0, quantity.start - 5) : quantity.start]) else "", end


_FILLERS = (
    rf"(?:(?:{'|'.join(MONTHS)}|on|in|the|an?|of|years?|dates?|day|start|beginning|end|exactly|some|time|total|just|number|row|column|"
    r"group|period)\s+|(?:US\s?)?[$]\s?)*$"
)
_MORE = (
    r"(?:(?:more|greater|higher|larger|longer|later|bigger|better|older|heavier|denser|harder|farther|further|wider|"
    r"taller|more \w+) than|over|above|after|exceed(?:s|ed|ing)?|beyond|past|upwards? of|following|"
    r"surpass(?:es|ed|ing)?)"
)
_LESS = (
    r"(?:(?:less|fewer|lower|smaller|shorter|earlier|lighter|sooner|younger|less \w+) than|under|below|before|"
    r"prior to|short of|beneath)"
)
_NOT = r"\b(?:not|no|n't|never)\s+(?:\w+\s+){0,2}?"
_BEFORE = tuple(
    (op, re.compile(rf"(?:{pattern})\s+{_FILLERS}", re.IGNORECASE))
    for op, pattern in (
        ("<=", rf"{_NOT}{_MORE}|\b(?:at most|maximum|maximum of|up to|until|till|by the end of)"),
        (">=", rf"{_NOT}{_LESS}|\b(?:at least|minimum|minimum of|since|from|starting in)"),
        ("<", rf"\b{_LESS}"),
        (">", rf"\b{_MORE}"),
        ("!=", r"\bother than|\bexcept|\bnot"),
        ("~", r"\b(?:about|around|approximately|roughly|nearly|almost|circa|close to)"),
    )
)
_AFTER = (
    (">=", re.compile(r"\+|,? (?:or|and) (?:more|above|over|later|longer|higher|greater|larger|up|after)\b", re.I)),
    ("<=", re.compile(r",? (?:or|and) (?:less|fewer|below|under|earlier|shorter|lower|smaller|before)\b", re.I)),
)


def _op(text: str, start: int, end: int) -> tuple[str, int]:
    """The comparison of the number at `start`, and where it begins."""
    for op, pattern in _AFTER:
        if pattern.match(text, end):
            return op, start
    for op, pattern in _BEFORE:
        # anchored at the number; only a few words can precede it
        if match := pattern.search(text[max(0, start - 60) : start]):
            return op, max(0, start - 60) + match.start()
    return "=", start
