"""Numbers and dates in English sentences (``1,814.15``, ``93%``, ``the 31st of August 2006``), and what a text says of
those with a unit: *more than 90 minutes*, *60 percent or less*.
"""

from __future__ import annotations

import datetime
import math
import re
from dataclasses import dataclass, field, replace

MONTHS = (
    *("january", "february", "march", "april", "may", "june"),
    *("july", "august", "september", "october", "november", "december"),
)
# in ASCII: in Unicode "ſ" is a kind of "s" to a pattern that ignores case, but not to `str.lower`
_MONTH = f"(?a:{'|'.join(MONTHS)})"
_DAY = r"(?P<{0}>[0-3]?\d)(?:st|nd|rd|th)?"
_YEAR = r"(?P<{0}>[12]\d{{3}})"
_DATE = re.compile(
    rf"(?<![\w.,/-])(?:{_YEAR.format('y1')}[-/](?P<m1>[01]?\d)[-/](?P<d1>[0-3]?\d)"
    rf"|{_DAY.format('d2')}(?: of)? (?P<m2>{_MONTH}),? {_YEAR.format('y2')}"
    rf"|(?P<m3>{_MONTH}) {_DAY.format('d3')},? {_YEAR.format('y3')})(?![\w/-])",
    re.IGNORECASE,
)
# Possessive and atomic, so that a text of a hundred thousand digits is not tried in every way. "4.3.2" is not read,
# nor any part of it.
_DIGITS = r"[-−]?(?>\d{1,3}(?:,\d{3})++|\d++)(?:\.\d++)?+(?:[eE][-+]?\d{1,3})?+(?!\.\d|,\d\d,)"
_ATTACHED = r"(?:[kc]?m|[km]?g|ft|mph|km/h)(?![\w-])"
"""A unit without a space before it. After a currency an *m* is a million, which is not read."""
_NUMBER = re.compile(rf"(?<![\w.,])(?:{_DIGITS}(?!\w)|(?<![$£€]){_DIGITS}(?={_ATTACHED}))")
_DIGIT = re.compile(r"\d")
_HOURS = ("hour", "hours", "hr", "hrs")
_SCALES = {"hundred": 1e2, "thousand": 1e3, "million": 1e6, "billion": 1e9, "trillion": 1e12} | dict.fromkeys(
    _HOURS, 60.0
)
# hours are counted in minutes, as running times are stated
_SCALE = re.compile(rf"[ -]?((?a:{'|'.join(_SCALES)}))\b", re.IGNORECASE)
_ONES = ("one", "two", "three", "four", "five", "six", "seven", "eight", "nine")
_TEENS = ("ten", "eleven", "twelve", "thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen")
_TENS = ("twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety")
_WORDS = (*_ONES, *_TEENS, *(f"{ten}{one and '-'}{one}" for ten in _TENS for one in ("", *_ONES)))
"""The numbers from 1 to 99 in words."""
_LONGEST_FIRST = sorted(_WORDS, key=len, reverse=True)
_COUNTED = (
    "seconds? minutes? days? weeks? months? years? met(?:re|er)s? kilomet(?:re|er)s? miles? feet foot inch(?:es)?"
)
_COUNTED += " (?:kilo)?grams? tons? tonnes? pounds? lit(?:re|er)s? gallons? percent dollars? euros? degrees?"
# before a unit only in small letters: *Nine Months* is a film
_SPELLED = re.compile(
    rf"(?<!half )\b(?:((?a:{'|'.join(_LONGEST_FIRST)}|an?))( and a half)?(?=[ -](?a:{'|'.join(_SCALES)})\b)"
    rf"|(?-i:({'|'.join(_LONGEST_FIRST)})( and a half)?(?=[ -](?:{'|'.join(_COUNTED.split())})\b)))",
    re.IGNORECASE,
)
_IN_WORDS = re.compile(rf"\b(?!one\b)(?a:{'|'.join(_LONGEST_FIRST)})\b(?= (?-i:[a-z]))", re.IGNORECASE)
_MINUS = re.compile(r"\bminus $", re.IGNORECASE)
_BEFORE_CHRIST = re.compile(r" ?(?:BCE?\b|B\.C\.)")
_AND = re.compile(r",? (?:and )?")
_MINUTES = re.compile(r"[ -]?min(?:ute)?s?\b")
MAX_CHARACTERS = 40
"""Maximum number of characters of a number; anything longer is not a quantity."""


@dataclass(frozen=True)
class Quantity:
    """A number or a date in a text.

    Args:
        size: the number; for a date, its year with the day of the year as a fraction.
        text: the plain form: ``1814.15``; a date as ``yyyy-mm-dd``.
        date: true for a date; a year alone is a number.
        stop: where the words end that belong to its size, such as *million* (`scaled_quantities`).
        minutes: whether these words are hours, or hours and minutes.
    """

    start: int
    end: int
    size: float
    text: str
    date: bool = False
    stop: int = field(default=0, compare=False)
    minutes: bool = field(default=False, compare=False)


def find_quantities(text: str) -> list[Quantity]:
    """All quantities from left to right; the parts of a date are not found again as numbers."""
    found = [quantity for match in _DATE.finditer(text) if (quantity := _date(match)) is not None]
    taken = {place for quantity in found for place in range(quantity.start, quantity.end)}
    for match in _NUMBER.finditer(text):
        if match.start() not in taken and len(match[0]) <= MAX_CHARACTERS:
            plain = match[0].replace(",", "").replace("−", "-")
            found.append(Quantity(match.start(), match.end(), float(plain), plain))
    return sorted(found, key=lambda quantity: quantity.start)


def spelled_as_digits(text: str) -> str:
    """The text with its numbers in words from two on as digits, before another word: *ten levers*. They are as long as
    the words, so that places in the text stay the same."""
    return _IN_WORDS.sub(lambda match: str(_WORDS.index(match[0].lower()) + 1).rjust(len(match[0])), text)


def has_quantity(text: str) -> bool:
    """Whether `scaled_quantities` may find something, at a fraction of its time."""
    return _DIGIT.search(text) is not None or _SPELLED.search(text) is not None


def scaled_quantities(text: str) -> list[Quantity]:
    """The same with the size that the words around them give, also of numbers in words: ``1.5 million`` is 1,500,000,
    ``two hours`` are 120, both numbers of ``2 hours and 30 minutes`` are 150, ``753 BC`` is −753."""
    words = {match.end(): match.start() for match in _SPELLED.finditer(text)}
    found: list[Quantity] = []
    for quantity in find_quantities(_SPELLED.sub(_digits, text) if words else text):
        one = quantity if quantity.date else _scaled(text, quantity)
        one = replace(one, start=words.get(one.end, one.start), stop=max(one.stop, one.end))
        hours = found[-1] if found and found[-1].minutes and _AND.fullmatch(text, found[-1].stop, one.start) else None
        if hours is not None and one.size < 60 and (match := _MINUTES.match(text, one.stop)):
            one = replace(one, size=hours.size + one.size, stop=match.end(), minutes=True)
            found[-1] = replace(hours, size=one.size, stop=one.stop)
        found.append(one)
    return found


def _scaled(text: str, quantity: Quantity) -> Quantity:
    """The quantity with the words after it and the sign before it."""
    size, stop, minutes = quantity.size, quantity.end, False
    while not minutes and (scale := _SCALE.match(text, stop)):
        size, stop, minutes = size * _SCALES[scale[1].lower()], scale.end(), scale[1].lower() in _HOURS
    if match := _BEFORE_CHRIST.match(text, stop):
        size, stop = -size, match.end()
    elif match := _MINUS.search(text[max(0, quantity.start - 7) : quantity.start]):
        before = quantity.start - len(match[0])
        quantity = replace(quantity, start=before, text=f"-{quantity.text}")
        size = -size
    return replace(quantity, size=size, stop=stop, minutes=minutes)


def _digits(match: re.Match[str]) -> str:
    """The digits of a number in words, as long as the words, so that places in the text stay the same."""
    word = (match[1] or match[3]).lower()
    number = _WORDS.index(word) + 1 if word in _WORDS else 1
    return f"{number}{'.5' if match[2] or match[4] else ''}".rjust(len(match[0]))


def _date(match: re.Match[str]) -> Quantity | None:
    year, month, day = (next(match[f"{part}{n}"] for n in (1, 2, 3) if match[f"{part}{n}"]) for part in "ymd")
    number = int(month) if month.isdecimal() else MONTHS.index(month.lower()) + 1
    try:
        date = datetime.date(int(year), number, int(day))
    except ValueError:
        return None
    return Quantity(*match.span(), date.year + date.timetuple().tm_yday / 367, date.isoformat(), date=True)


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
# of "great": greater, greatest; of "large": larger, largest
MORE_STEMS = (
    "big bigg broad busi costli dear deep dens fast great hard heavi high hott large long old quick rich strong tall "
    "thick warm wide"
)
LESS_STEMS = "cheap cold cool few light low narrow poor shallow short slight slow small soft soon thin tini weak young"


def _than(stems: str, word: str, others: str) -> str:
    r"""*heavier than*, *more than*, *more severe than*, or one of the others."""
    return rf"(?:(?:(?:{'|'.join(stems.split())})e?r|{word}(?: \w+)?) than|{others})"


_MORE = _than(
    f"{MORE_STEMS} late new farth furth bett",
    "more",
    r"over|above|after|exceed(?:s|ed|ing)?|beyond|past|upwards? of|following|surpass(?:es|ed|ing)?",
)
_LESS = _than(f"{LESS_STEMS} earli", "less", r"under|below|before|prior to|short of|beneath")
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
