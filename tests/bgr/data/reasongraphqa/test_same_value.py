"""Values with the same meaning are normalized to the same form."""

from __future__ import annotations

import datetime

import pytest

from bgr.data.kb.schema import Value
from bgr.data.reasongraphqa.construction.conflicts import entailed_values, normalize


def quantity(number, unit="1"):
    return Value("quantity", number, unit)


@pytest.mark.parametrize(
    ("a", "b"),
    [
        (quantity(175, "centimetre"), quantity(1.75, "metre")),
        (quantity(2, "hour"), quantity(120, "minute")),
        (quantity(12, "inch"), quantity(1, "foot")),
        (quantity(64, "hectare"), quantity(0.64, "square kilometre")),
        (quantity(7, "tonne"), quantity(7000, "kilogram")),
        (quantity(3, "furlong"), quantity(3.0, "furlong")),
    ],
)
def test_the_same_in_two_units(a, b):
    assert normalize(a) == normalize(b)
    assert normalize(normalize(a)) == normalize(a)


@pytest.mark.parametrize(
    ("a", "b"),
    [
        (quantity(1, "metre"), quantity(1, "kilometre")),
        (quantity(1, "metre"), quantity(1, "second")),
        (quantity(1), quantity(1, "percent")),
        (quantity(1_000_000_001), quantity(1_000_000_002)),
        (quantity(1898), Value("year", 1898)),
        (Value("string", "1898"), Value("year", 1898)),
    ],
)
def test_not_the_same(a, b):
    assert normalize(a) != normalize(b)


def test_a_date_says_its_year():
    date = Value("date", datetime.date(1960, 2, 1))
    assert entailed_values(date) == (date, Value("year", 1960))
    assert entailed_values(Value("year", 1960)) == (Value("year", 1960),)
