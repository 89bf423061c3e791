"""Numbers and dates in English sentences: ``1,814.15``, ``93%``, ``the 31st of August 2006``."""

from __future__ import annotations

import datetime
import re
from dataclasses import dataclass, replace

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
# possessive, so that a text of a hundred thousand digits is not tried in every way
_NUMBER = re.compile(r"(?<![\w.,])[-−]?(?:\d{1,3}(?:,\d{3})++|\d++)(?:\.\d++)?(?:[eE][-+]?\d{1,3})?(?![\w])")
_DIGIT = re.compile(r"\d")
HOURS = ("hour", "hours", "hr", "hrs")
_SCALES = {"hundred": 1e2, "thousand": 1e3, "million": 1e6, "billion": 1e9, "trillion": 1e12} | dict.fromkeys(
    HOURS, 60.0
)
SCALE = re.compile(rf"[ -]?((?a:{'|'.join(_SCALES)}))\b", re.IGNORECASE)
"""The word after a number that it is multiplied for; hours are counted in minutes, as running times are stated."""
_WORDS = ("one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve")
_SPELLED = re.compile(rf"(?<!half )\b((?a:{'|'.join(_WORDS)}|an?))(?=[ -](?a:{'|'.join(_SCALES)})\b)", re.IGNORECASE)
MAX_CHARACTERS = 40
"""Maximum number of characters of a number; anything longer is not a quantity."""


@dataclass(frozen=True)
class Quantity:
    """A number or a date in a text.

    Args:
        size: the number; for a date, its year with the day of the year as a fraction.
        text: the plain form: ``1814.15``; a date as ``yyyy-mm-dd``.
        date: true for a date; a year alone is a number.
    """

    start: int
    end: int
    size: float
    text: str
    date: bool = False


def find_quantities(text: str) -> list[Quantity]:
    """All quantities from left to right; the parts of a date are not found again as numbers."""
    found = [quantity for match in _DATE.finditer(text) if (quantity := _date(match)) is not None]
    taken = {place for quantity in found for place in range(quantity.start, quantity.end)}
    for match in _NUMBER.finditer(text):
        if match.start() not in taken and len(match[0]) <= MAX_CHARACTERS:
            plain = match[0].replace(",", "").replace("−", "-")
            found.append(Quantity(match.start(), match.end(), float(plain), plain))
    return sorted(found, key=lambda quantity: quantity.start)


def has_quantity(text: str) -> bool:
    """Whether `scaled_quantities` may find something, at a fraction of its time."""
    return _DIGIT.search(text) is not None or _SPELLED.search(text) is not None


def scaled_quantities(text: str) -> list[Quantity]:
    """The same with the size that the next word gives, which may also follow a number in words: ``1.5 million`` is
    1,500,000, and ``two hours`` are 120."""
    words = {match.end(): match.start() for match in _SPELLED.finditer(text)}
    found = []
    for quantity in find_quantities(_SPELLED.sub(_digits, text) if words else text):
        scale = None if quantity.date else SCALE.match(text, quantity.end)
        size = quantity.size * _SCALES[scale[1].lower()] if scale else quantity.size
        found.append(replace(quantity, start=words.get(quantity.end, quantity.start), size=size))
    return found


def _digits(match: re.Match[str]) -> str:
    """The digits of a number in words, as long as the words, so that places in the text stay the same."""
    word = match[1].lower()
    return str(_WORDS.index(word) + 1 if word in _WORDS else 1).rjust(len(word))


def _date(match: re.Match[str]) -> Quantity | None:
    year, month, day = (next(match[f"{part}{n}"] for n in (1, 2, 3) if match[f"{part}{n}"]) for part in "ymd")
    number = int(month) if month.isdecimal() else MONTHS.index(month.lower()) + 1
    try:
        date = datetime.date(int(year), number, int(day))
    except ValueError:
        return None
    return Quantity(*match.span(), date.year + date.timetuple().tm_yday / 367, date.isoformat(), date=True)
