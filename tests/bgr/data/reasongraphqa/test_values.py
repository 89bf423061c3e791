"""Verbalization of values."""

from __future__ import annotations

import datetime

import pytest

from bgr.data.kb.schema import Value
from bgr.data.reasongraphqa.verbalize.templates import plural_unit, quantity_text, value_text, when_text, with_article


@pytest.mark.parametrize(
    ("number", "unit", "text"),
    [
        (96, "minute", "96 minutes"),
        (1, "minute", "1 minute"),
        (1234567, "1", "1,234,567"),
        (1337.33, "kelvin", "1,337.33 kelvins"),
        (96.0, "minute", "96 minutes"),
        (0.001308, "gram per cubic centimetre", "0.001308 grams per cubic centimetre"),
        (-12, "foot", "-12 feet"),
        (1e-13, "metre", "1e-13 metres"),
        (87, "percent", "87 percent"),
        (100, "degree Celsius", "100 degrees Celsius"),
    ],
)
def test_quantities(number, unit, text):
    assert quantity_text(number, unit) == text


def test_symbols():
    assert quantity_text(87, "percent", symbol=True) == "87%"
    assert quantity_text(1500, "United States dollar", symbol=True) == "$1,500"
    assert quantity_text(96, "minute", symbol=True) == "96 minutes"


def test_dates_are_written_in_every_style():
    date = Value("date", datetime.date(1957, 2, 6))
    assert [value_text(date, style) for style in range(3)] == ["6 February 1957", "February 6, 1957", "1957-02-06"]
    assert when_text(date) == "on 6 February 1957"
    assert when_text(Value("year", 1957)) == "in 1957"
    assert value_text(Value("year", -44)) == "44 BC"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("English film", "an English film"),
        ("Ukrainian", "a Ukrainian"),
        ("Uzbek", "an Uzbek"),
        ("unit", "a unit"),
        ("US state", "a US state"),
        ("8-bit", "an 8-bit"),
        ("11,000", "an 11,000"),
        ("110", "a 110"),
        ("s-block", "an s-block"),
        ("f-block", "an f-block"),
        ("d-block", "a d-block"),
        ("hour", "an hour"),
    ],
)
def test_article(text, expected):
    assert with_article(text) == expected


def test_plural_of_compound_units():
    assert plural_unit("United States dollar") == "United States dollars"
    assert plural_unit("kilometre per hour") == "kilometres per hour"
