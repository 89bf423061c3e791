"""What a question states apart from its names: quantities with their comparisons, directions, negations."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from dataclasses import dataclass

from bgr.utils.quantities import Quantity, find_quantities

NAME = "§"
"""Stands for each name in a masked text, so that words of names are not read as words of the question."""


def holds(text: str, name: str) -> bool:
    """True if the text has the name, in the same case, and not as a part of other words."""
    return _name(name).search(text) is not None


def mask(text: str, names: Iterable[str]) -> str:
    """The text with `NAME` for each of the names, the longest first, since a name may contain another."""
    return _any_name(names).sub(NAME, text)


def named(text: str, names: Iterable[str]) -> list[str]:
    """The names in the order in which `mask` replaces them."""
    return _any_name(names).findall(text)


def _any_name(names: Iterable[str]) -> re.Pattern[str]:
    longest = sorted(set(names), key=lambda name: (-len(name), name))
    # without names there is nothing to match
    return re.compile(rf"(?<!\w)(?:{'|'.join(map(re.escape, longest)) or '(?!)'})(?!\w)")


def _name(name: str) -> re.Pattern[str]:
    return re.compile(rf"(?<!\w){re.escape(name)}(?!\w)")


# -- quantities -------------------------------------------------------------------------------------------------------

_SCALES = {"hundred": 1e2, "thousand": 1e3, "million": 1e6, "billion": 1e9, "trillion": 1e12}
_SCALE = re.compile(rf"[ -]?({'|'.join(_SCALES)})\b", re.IGNORECASE)
_WORD_NUMBERS = ("one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve")
_SPELLED = re.compile(rf"\b({'|'.join(_WORD_NUMBERS)}|an?)(?= (?:{'|'.join(_SCALES)})\b)", re.IGNORECASE)

_UNITS = (
    ("minute", r"min(?:ute)?s?\b"),
    ("hour", r"(?:hours?|hrs?)\b"),
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


@dataclass(frozen=True)
class Measure:
    """A number or a date with what it says of its key.

    Args:
        value: the number in the base unit (hours count as minutes), or a date as ``yyyy-mm-dd``.
        unit: canonical name of the unit; empty if there is none.
        op: ``=``, ``<``, ``>``, ``<=``, ``>=``, ``!=``, or ``~`` for about.
        cue: the three words before it, in lower case.
    """

    value: float | str
    unit: str
    op: str
    cue: str

    def same_value(self, other: Measure) -> bool:
        """True if both have equal values and units."""
        if isinstance(self.value, str) or isinstance(other.value, str):
            return self.value == other.value
        return self.unit == other.unit and math.isclose(self.value, other.value, rel_tol=1e-9)


def measures(masked: str) -> list[Measure]:
    """The quantities of a masked text, from left to right."""
    return [measure for measure, _ in _measures(masked)]


def _measures(masked: str) -> list[tuple[Measure, tuple[int, int]]]:
    """The quantities, each with the span of its comparison, number and unit."""
    text = _SPELLED.sub(lambda match: _digits(match[1]), masked)
    found: list[tuple[Measure, tuple[int, int]]] = []
    end = 0
    for quantity in find_quantities(text):
        if quantity.start < end:  # the 100 of "out of 100"
            continue
        value, unit, end = _value(text, quantity)
        op, start = _op(text, quantity.start, end)
        cue = " ".join(re.findall(r"\w+", text[: quantity.start].lower())[-3:])
        found.append((Measure(value, unit, op, cue), (start, end)))
    return found


def _digits(word: str) -> str:
    word = word.lower()
    # as long as the word, so that places in the text stay the same
    return str(_WORD_NUMBERS.index(word) + 1 if word in _WORD_NUMBERS else 1).rjust(len(word))


def _value(text: str, quantity: Quantity) -> tuple[float | str, str, int]:
    """The value and unit of a quantity, and where they end."""
    if quantity.date:
        return quantity.text, "", quantity.end
    value, unit, end = quantity.size, "", quantity.end
    if scale := _SCALE.match(text, end):
        value, end = value * _SCALES[scale[1].lower()], scale.end()
    if match := _UNIT.match(text, end):
        unit, end = _UNITS[(match.lastindex or 1) - 1][0], match.end()
    elif _CURRENCY.search(text[: quantity.start]):
        unit = "dollar"
    return (value * 60, "minute", end) if unit == "hour" else (value, unit, end)


_FILLERS = (
    r"(?:(?:on|in|the|an?|of|years?|dates?|day|start|beginning|end|exactly|some|time|total|just|number|row|column|"
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


# -- directions and negations -----------------------------------------------------------------------------------------

_UP = frozenset(
    "more most greater greatest larger largest longer longest higher highest bigger biggest better best later latest "
    "heavier heaviest denser densest harder hardest taller tallest wider widest newer newest maximum".split()
)
_DOWN = frozenset(
    "less least fewer fewest lesser smaller smallest shorter shortest lower lowest worse worst lighter lightest "
    "earlier earliest sooner soonest easier easiest older oldest minimum".split()
)
DIRECTIONS = _UP | _DOWN
_NEGATION = re.compile(r"\b(?:not|no|never|without|none|neither|nor|except|excluding|cannot|lacks?|fails?)\b|n['’]t\b")
_YES_OR_NO = re.compile(r"\byes or no\b|\bno or yes\b|\bor not\b", re.IGNORECASE)


def directions(masked: str) -> frozenset[str]:
    """``more``, ``less``, both or neither: the directions of comparisons without a number, as in "the longer one"."""
    text = _SPELLED.sub(lambda match: _digits(match[1]), masked)
    for _, (start, end) in reversed(_measures(masked)):
        text = text[:start] + text[end:]
    words = set(re.findall(r"\w+", text.lower()))
    return frozenset(name for name, known in (("more", _UP), ("less", _DOWN)) if words & known)


def negations(masked: str) -> int:
    """The number of words that negate."""
    return len(_NEGATION.findall(_YES_OR_NO.sub("", masked).lower()))
