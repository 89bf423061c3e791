"""One form for values that say the same, whatever their unit: 1.75 metres and 175 centimetres."""

from __future__ import annotations

import datetime

from bgr.kb.schema import Value

DIGITS = 12
"""Significant digits of a converted number: more would tell apart what only rounding tells apart."""

_FACTORS = {
    "metre": {
        "millimetre": 1e-3,
        "centimetre": 1e-2,
        "kilometre": 1e3,
        "inch": 0.0254,
        "foot": 0.3048,
        "mile": 1609.344,
    },
    "square metre": {"hectare": 1e4, "acre": 4046.8564224, "square kilometre": 1e6, "square mile": 2589988.110336},
    "cubic metre": {"litre": 1e-3, "cubic kilometre": 1e9},
    "kilogram": {"gram": 1e-3, "tonne": 1e3, "pound": 0.45359237},
    "second": {"minute": 60.0, "hour": 3600.0, "day": 86400.0},
    "metre per second": {"kilometre per hour": 1 / 3.6},
    "watt": {"kilowatt": 1e3, "megawatt": 1e6, "gigawatt": 1e9},
    "1": {"percent": 1e-2, "per mille": 1e-3},
}
_BASES = {unit: (base, factor) for base, others in _FACTORS.items() for unit, factor in others.items()}


def normal(value: Value) -> Value:
    """The value in its base unit; two values that say the same have one normal form. Other units stay as they are."""
    if value.type != "quantity":
        return value
    base, factor = _BASES.get(value.unit, (value.unit, 1.0))
    return Value("quantity", float(f"{float(value.value) * factor:.{DIGITS}g}"), base)  # type: ignore[arg-type]


def readings(value: Value) -> tuple[Value, ...]:
    """What a value says: itself in normal form, and for a date its year too (a year does not say the date)."""
    if isinstance(value.value, datetime.date):
        return (value, Value("year", value.value.year))
    return (normal(value),)
