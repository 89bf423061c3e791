"""Numbers of a text with their units, *1,541 °C*, *1.5 million dollars*, *44 BC*, and how they compare."""

from __future__ import annotations

import math
import re
from calendar import monthrange
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import NamedTuple

from bgr.utils.quantities import MONTHS, Quantity, find_quantities, scaled_quantities

YEARS = range(1000, 2101)
"""Whole numbers without a unit that are compared with dates as years: a date lies *in* its year."""

SAME, CONVERTED = 1e-9, 1e-3
"""Relative differences up to which two numbers are equal, in the same unit and in two units."""


class _Unit(NamedTuple):
    """A unit: its canonical name as in KQA Pro, how it is written, and how to convert it to that of its dimension."""

    name: str
    pattern: str
    dimension: str
    factor: float = 1.0
    offset: float = 0.0


_COINS = (
    "cent crown dinar dirham ducat florin forint franc guilder krona krone kronor kroner kreuzer lira lire mark pence "
    "penny peso rand rouble ruble rupee shilling thaler yen yuan zloty"
).split()
MONEY = {"dollar", "euro", "pound sterling", *_COINS}
"""The dimensions of currencies, each its own."""

_METRES = "met(?:re|er)s?"
# a unit that begins like another one comes first
_UNITS = (
    _Unit("minute", r"min(?:ute)?s?\b", "time"),
    _Unit("second", r"(?:seconds?|secs?)\b", "time", 1 / 60),
    _Unit("day", r"days?\b", "time", 1440),
    _Unit("week", r"weeks?\b", "time", 10_080),
    _Unit("month", r"months?\b", "time", 43_829),
    _Unit("year", r"years?\b", "time", 525_949),
    _Unit("United States dollar", r"(?:US|U\.S\.|United States|American) dollars?\b|USD\b", "dollar"),
    _Unit("dollar", r"dollars?\b", "dollar"),
    _Unit("euro", r"euros?\b|EUR\b|€", "euro"),
    _Unit("pound sterling", r"(?:pounds? sterling|GBP)\b", "pound sterling"),
    *(_Unit(name, rf"{name}s?\b", name) for name in _COINS),
    _Unit("percent", r"%|per ?cent\b", "share"),
    _Unit("square kilometre", rf"(?:square|sq\.?) (?:kilo{_METRES}|km\b)|km²|km2\b", "area"),
    _Unit("square mile", r"(?:square|sq\.?) mi(?:les?)?\b", "area", 2.589988110336),
    _Unit("square metre", rf"(?:square|sq\.?) (?:{_METRES}|m\b)|m²|m2\b", "area", 1e-6),
    _Unit("square foot", r"(?:square|sq\.?) (?:feet|foot|ft)\b", "area", 9.290304e-8),
    _Unit("hectare", r"hectares?\b|ha\b", "area", 0.01),
    _Unit("acre", r"acres?\b", "area", 0.0040468564224),
    _Unit("gram per cubic centimetre", r"grams? per cubic centi(?:metre|meter)\b|g/cm³|g/cm3\b", "density"),
    _Unit("kilogram per cubic metre", r"kilograms? per cubic (?:metre|meter)\b|kg/m³|kg/m3\b", "density", 0.001),
    _Unit("gram per mole", r"grams? per mole?\b|g/mol\b", "molar mass"),
    _Unit("dalton", r"(?:(?i:daltons?)|Da|atomic mass units?|u|amu)\b", "mass of a molecule"),
    _Unit("kilometre per hour", rf"(?:kilo{_METRES} per hour|km/h|kph|kmh)\b", "speed"),
    _Unit("mile per hour", r"(?:miles per hour|mph)\b", "speed", 1.609344),
    _Unit("metre per second", rf"(?:{_METRES} per second|m/s)\b", "speed", 3.6),
    _Unit("kilogram", r"(?:kilograms?|kilos?|kg)\b", "mass"),
    _Unit("gram", r"(?:grams?|g)\b", "mass", 0.001),
    _Unit("milligram", r"(?:milligrams?|mg)\b", "mass", 1e-6),
    _Unit("ounce", r"(?:ounces?|oz)\b", "mass", 0.028349523125),
    _Unit("tonne", r"(?:metric tons?|tonnes?)\b", "mass", 1000),
    _Unit("pound", r"(?:pounds?|lbs?)\b", "mass", 0.45359237),
    _Unit("cubic metre", rf"cubic {_METRES}|m³|m3\b", "volume", 1000),
    _Unit("litre", r"lit(?:re|er)s?\b", "volume"),
    _Unit("millilitre", r"(?:millilit(?:re|er)s?|ml)\b", "volume", 0.001),
    _Unit("gallon", r"gallons?\b", "volume", 3.785411784),
    _Unit("watt", r"(?:watts?|W)\b", "power", 0.001),
    _Unit("kilowatt", r"(?:kilowatts?|kW)\b", "power"),
    _Unit("megawatt", r"(?:megawatts?|MW)\b", "power", 1000),
    _Unit("gigawatt", r"(?:gigawatts?|GW)\b", "power", 1e6),
    _Unit("volt", r"(?:volts?|V)\b", "voltage"),
    _Unit("kilovolt", r"(?:kilovolts?|kV)\b", "voltage", 1000),
    _Unit("hertz", r"(?:hertz|Hz)\b", "frequency"),
    _Unit("kilohertz", r"(?:kilohertz|kHz)\b", "frequency", 1e3),
    _Unit("megahertz", r"(?:megahertz|MHz)\b", "frequency", 1e6),
    _Unit("gigahertz", r"(?:gigahertz|GHz)\b", "frequency", 1e9),
    _Unit("decibel", r"(?:decibels?|dB)\b", "loudness"),
    _Unit("kilobyte", r"(?:kilobytes?|[kK]B)\b", "data", 1e-3),
    _Unit("megabyte", r"(?:megabytes?|MB)\b", "data"),
    _Unit("gigabyte", r"(?:gigabytes?|GB)\b", "data", 1e3),
    _Unit("terabyte", r"(?:terabytes?|TB)\b", "data", 1e6),
    _Unit("horsepower", r"(?:horsepower|hp)\b", "power", 0.7457),
    _Unit("millimetre", rf"(?:milli{_METRES}|mm)\b", "length", 0.001),
    _Unit("centimetre", rf"(?:centi{_METRES}|cm)\b", "length", 0.01),
    _Unit("kilometre", rf"(?:kilo{_METRES}|km)\b", "length", 1000),
    _Unit("nautical mile", r"nautical miles?\b", "length", 1852),
    _Unit("mile", r"miles?\b", "length", 1609.344),
    _Unit("inch", r"inch(?:es)?\b", "length", 0.0254),
    _Unit("yard", r"yards?\b", "length", 0.9144),
    _Unit("foot", r"(?:feet|foot|ft)\b", "length", 0.3048),
    _Unit("metre", rf"(?:{_METRES}|m)\b", "length"),
    _Unit("kelvin", r"(?:(?i:kelvins?)|K)\b", "temperature"),
    _Unit("degree Celsius", r"(?:degrees?|°) ?(?:Celsius|centigrade|C)\b", "temperature", 1, 273.15),
    _Unit("degree Fahrenheit", r"(?:degrees?|°) ?(?:Fahrenheit|F)\b", "temperature", 5 / 9, 459.67 * 5 / 9),
    _Unit("degree", r"degrees?\b|°", "angle"),
)
_UNIT = re.compile("[ -]?(?:" + "|".join(f"({unit.pattern})" for unit in _UNITS) + ")")
_NAMED = {unit.name: unit for unit in _UNITS}
_CURRENCY = re.compile(r"(?:(?:US ?)?(\$)|(€)|(£)) ?$")
_CURRENCIES = ("United States dollar", "euro", "pound sterling")
_TO = re.compile(r"\s+(?:and|to|through|until|till)\s+(?:the\s+year\s+)?(?:(?:US\s?)?\$\s?)?|\s?[-–—]\s?")
_MONTH = re.compile(rf"\b(?a:({'|'.join(MONTHS)}))(?:,| of)? $", re.IGNORECASE)
_OPEN = re.compile(r"\b(?:between|from)\s+(?:the\s+years?\s+|years?\s+)?$", re.IGNORECASE)


@dataclass(frozen=True)
class Amount:
    """A number or a date with its unit, as a text states it.

    Args:
        start, end: its characters with the unit.
        size: the number in its unit, *million* and the like counted, hours as minutes; a date as in `Quantity`.
        plain: the number alone: ``1814.15``; a date as ``yyyy-mm-dd``.
        unit: canonical name of the unit; empty if none follows that is known.
        worded: whether words belong to the number: *1.5 million*, *two hours*, *44 BC*, *May 1990*.
        date: whether it is a date or a month; a year alone is a number.
        last: for a month the size of its last day.
    """

    start: int
    end: int
    size: float
    plain: str
    unit: str = ""
    worded: bool = False
    date: bool = False
    last: float | None = None

    @property
    def is_time(self) -> bool:
        """Whether it is a date, a month, or a number that may be a year."""
        return self.date or (not self.unit and (self.size in YEARS or (self.worded and self.size < 0)))


def amounts(text: str) -> list[Amount]:
    """The numbers and dates of a text from left to right; *2 hours and 30 minutes* are one."""
    found: list[Amount] = []
    for one in scaled_quantities(text):
        if found and one.start < found[-1].end:
            continue
        worded = not one.date and (one.stop > one.end or not text[one.start : one.end].lstrip("-−")[:1].isdigit())
        is_year = not one.date and not worded and one.size in YEARS
        if is_year and (month := _MONTH.search(text[max(0, one.start - 13) : one.start])):
            found.append(_month(month, one))
            continue
        start, end, unit = one.start, one.stop, "minute" if one.minutes else ""
        if not one.date and not unit:
            if match := _UNIT.match(text, end):
                unit, end = _UNITS[(match.lastindex or 1) - 1].name, match.end()
            elif match := _CURRENCY.search(text[max(0, one.start - 5) : one.start]):
                unit, start = _CURRENCIES[(match.lastindex or 1) - 1], one.start - len(match[0])
        found.append(Amount(start, end, one.size, one.text, unit, worded, one.date))
    return found


def _month(match: re.Match[str], year: Quantity) -> Amount:
    """A month from its first day to its last."""
    number = MONTHS.index(match[1].lower()) + 1
    days = monthrange(int(year.size), number)[1]
    first, last = (find_quantities(f"{int(year.size)}-{number}-{day}") for day in (1, days))
    return Amount(year.start - len(match[0]), year.end, first[0].size, year.text, "", True, True, last[0].size)


_HALF = r"(?:[ap]\.m\.|[ap]m\b)"
_CLOCK = rf"\d{{1,2}}(?::\d\d(?: ?{_HALF})?|\.\d\d ?{_HALF}| ?{_HALF}| o['’]clock)"
_DAY = rf"\d{{1,2}}(?:st|nd|rd|th)? (?:of )?(?i:{'|'.join(MONTHS)})\b|(?i:{'|'.join(MONTHS)}) \d{{1,2}}(?:st|nd|rd|th)?"
_CLOCK_OR_DAY = re.compile(rf"(?<!\d)(?:{_CLOCK}|{_DAY})(?!\d|[:.]\d)")


def with_clock_or_day(text: str, amount: Amount) -> Amount:
    """The amount with the words of the time of day or the day of the year that it is within: *6:30 pm*, *20 April*."""
    around = () if amount.unit or amount.date else _CLOCK_OR_DAY.finditer(text)
    for one in around:
        if one.start() <= amount.start < one.end():
            return replace(amount, start=one.start(), end=one.end(), worded=True)
    return amount


def amount_at(text: str, start: int, end: int) -> Amount | None:
    """The amount that some characters of a text belong to."""
    return next((one for one in amounts(text) if one.start < end and start < one.end), None)


def of_one_kind(found: Sequence[Amount], texts: Sequence[str]) -> list[Amount]:
    """The amounts of several texts; one that is not of what most of them measure is replaced by the only one of its
    text that is."""
    most, chosen = main_dimension(found), []
    for one, text in zip(found, texts, strict=True):
        others = [other for other in amounts(text) if dimension(other.unit) == most]
        chosen.append(others[0] if dimension(one.unit) != most and len(others) == 1 else one)
    return chosen


def compared(one: Amount, other: Amount) -> str | None:
    """``<``, ``=`` or ``>``; ``None`` if their units cannot be compared. A number without a unit has the other's."""
    if one.date or other.date:
        (first, last), (other_first, other_last) = _period(one), _period(other)
        return "<" if last < other_first else ">" if first > other_last else "="
    sizes = common_sizes([one, other])
    if sizes is None:
        return None
    if math.isclose(*sizes, rel_tol=CONVERTED if one.unit and other.unit and one.unit != other.unit else SAME):
        return "="
    return "<" if sizes[0] < sizes[1] else ">"


def _period(one: Amount) -> tuple[float, float]:
    """The first and the last day of a date, a month or a year."""
    if one.date:
        return one.size, one.size if one.last is None else one.last
    return one.size, one.size + 366 / 367 if not one.unit and one.size in YEARS else one.size


def main_dimension(found: Iterable[Amount]) -> str:
    """What most of the amounts measure; of equally many, what the first of them does."""
    kinds = Counter(dimension(one.unit) for one in found)
    return max(kinds, key=kinds.__getitem__, default="")


def dimension(unit: str) -> str:
    """What a unit measures, such as *length*; empty without a unit."""
    return _NAMED[unit].dimension if unit else ""


def same_dimension(one: Amount, other: Amount) -> bool:
    """Whether both have a unit, and of the same dimension."""
    return bool(one.unit and other.unit) and dimension(one.unit) == dimension(other.unit)


def common_sizes(found: Sequence[Amount]) -> list[float] | None:
    """The sizes in one unit, that of the dimension if there are several; ``None`` if these are of two dimensions."""
    units = {one.unit for one in found} - {""}
    if len(units) < 2:
        return [one.size for one in found]
    if len({dimension(unit) for unit in units}) > 1 or any(not one.unit for one in found):
        return None
    return [one.size * _NAMED[one.unit].factor + _NAMED[one.unit].offset for one in found]


def bounds(text: str, place: Amount) -> tuple[Amount, Amount] | None:
    """The least and the greatest that a text allows around one of its amounts: *between 50 and 60 miles*, *from 1960 to
    1970*, *1960–1970*."""
    found = amounts(text)
    for low, high in pairwise(found):
        to = _TO.fullmatch(text, low.end, high.start)
        if place not in (low, high) or not to:
            continue
        if not to[0][:1].isspace() or to[0].strip() in "-–—" or _OPEN.search(text[: low.start]):
            return _like(low, high), high
    return None


def is_within(ends: tuple[Amount, Amount], value: Amount) -> bool:
    """Whether a value is between two `bounds`, or equal to one."""
    low, high = (compared(value, end) for end in ends)
    return low in ("=", ">") and high in ("=", "<")


def _like(low: Amount, high: Amount) -> Amount:
    """The first number with the unit and the words of the second one, if it has none: *between 2 and 3 million*."""
    if low.unit or low.worded or low.date or high.date:
        return low
    plain = float(high.plain)
    scale = high.size / plain if high.worded and plain and math.isfinite(plain) else 1.0
    return replace(low, size=low.size * scale, unit=high.unit)
