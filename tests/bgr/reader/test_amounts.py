"""Numbers with their units, and how they compare."""

import pytest

from bgr.reader.amounts import amount_at, amounts, bounds, common_sizes, compared, of_one_kind, with_clock_or_day


def first(text):
    return amounts(text)[0]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("It melts at 1,541 °C.", [("1,541 °C", 1541, "degree Celsius")]),
        ("It melts at 1,814.15 kelvins.", [("1,814.15 kelvins", 1814.15, "kelvin")]),
        ("It cost US$1.5 million in 1988.", [("US$1.5 million", 1.5e6, "United States dollar"), ("1988", 1988, "")]),
        ("3.2 million dollars", [("3.2 million dollars", 3.2e6, "dollar")]),
        ("3 US dollars, 20 crowns", [("3 US dollars", 3, "United States dollar"), ("20 crowns", 20, "crown")]),
        ("230 V, 2.4 GHz, 3 dB", [("230 V", 230, "volt"), ("2.4 GHz", 2.4, "gigahertz"), ("3 dB", 3, "decibel")]),
        ("97 won, 5 crowned", [("97", 97, ""), ("5", 5, "")]),
        ("It is 142 metres high, or 466 ft.", [("142 metres", 142, "metre"), ("466 ft", 466, "foot")]),
        ("1,200 square miles", [("1,200 square miles", 1200, "square mile")]),
        ("0.5 m² and 3km.", [("0.5 m²", 0.5, "square metre"), ("3km", 3, "kilometre")]),
        ("a 90-minute film of two hours", [("90-minute", 90, "minute"), ("two hours", 120, "minute")]),
        ("It lasts 2 hours and 30 minutes.", [("2 hours and 30 minutes", 150, "minute")]),
        ("It weighs 70 kg and 5 g.", [("70 kg", 70, "kilogram"), ("5 g", 5, "gram")]),
        ("It fell in 44 BC, on May 3, 1990.", [("44 BC", -44, ""), ("May 3, 1990", 1990 + 123 / 367, "")]),
        ("at 100 km/h or 3 m/s", [("100 km/h", 100, "kilometre per hour"), ("3 m/s", 3, "metre per second")]),
        ("12 minks, 5 dayflies, 7 united", [("12", 12, ""), ("5", 5, ""), ("7", 7, "")]),
        ("in May 1990, dismay 1990", [("May 1990", 1990 + 121 / 367, ""), ("1990", 1990, "")]),
        ("no number", []),
    ],
)  # fmt: skip
def test_numbers_with_their_units(text, found):
    assert [(text[one.start : one.end], pytest.approx(one.size), one.unit) for one in amounts(text)] == [
        (words, pytest.approx(size), unit) for words, size, unit in found
    ]


@pytest.mark.parametrize(
    ("one", "order", "other"),
    [
        ("400 metres", ">", "1,000 ft"),
        ("1 mile", "=", "1.609 km"),
        ("300 kelvins", ">", "20 °C"),
        ("212 °F", "=", "100 degrees Celsius"),
        ("90 minutes", "<", "two hours"),
        ("150 minutes", "=", "2 hours and 30 minutes"),
        ("5 kg", None, "5 metres"),
        ("5 °C", ">", "4"),  # a number without a unit has that of the other
        ("1,814.9 kelvins", ">", "1,814 kelvins"),  # no years
        ("8,336,818", ">", "8,336,817"),
        ("May 3, 1990", "=", "1990"),
        ("1990", "=", "May 3, 1990"),
        ("1989", "<", "May 3, 1990"),
        ("May 3, 1990", "<", "May 4, 1990"),
        ("May 1990", "=", "May 31, 1990"),
        ("May 1990", "<", "June 1, 1990"),
        ("the end of February, 1992", ">", "February 1990"),
        ("May 1990", "=", "1990"),
        ("December 31, 1990", "=", "1990"),
        ("January 1, 1990", ">", "1989"),
        ("753 BC", "<", "100"),
        ("753 BC", "<", "44 BC"),
        ("two hundred thousand", ">", "5,000"),
    ],
)
def test_the_order_of_two(one, order, other):
    assert compared(first(one), first(other)) == order
    assert compared(first(other), first(one)) == {"<": ">", ">": "<"}.get(order, order)


def test_sizes_of_several():
    assert common_sizes([first("3 km"), first("20 m")]) == [3000, 20]
    assert common_sizes([first("3 km"), first("20 km")]) == [3, 20]
    assert common_sizes([first("3 km"), first("20")]) == [3, 20]
    assert common_sizes([first("3 km"), first("20 m"), first("4")]) is None
    assert common_sizes([first("3 km"), first("3 kg")]) is None
    assert common_sizes([]) == []


def test_amounts_of_one_kind():
    texts = ["It boils at 402 K and has 147 grams per mole.", "192 g/mol", "521 grams per mole, not 522 grams per mole"]
    kelvins, *others = map(first, texts)
    assert [one.size for one in of_one_kind([kelvins, *others], texts)] == [147, 192, 521]
    assert of_one_kind([kelvins], texts[:1]) == [kelvins]
    assert of_one_kind([], []) == []


@pytest.mark.parametrize(
    ("question", "low", "high"),
    [
        ("Was it released between 1960 and 1970?", 1960, 1970),
        ("Was it open from 1960 to 1970?", 1960, 1970),
        ("Is it from 1960–1970?", 1960, 1970),
        ("Is it between 2 and 3 hours long?", 120, 180),
        ("Is it between 2 and 3 million?", 2e6, 3e6),
        ("Is it between 50 and 60 miles long?", 50, 60),
    ],
)
def test_bounds(question, low, high):
    for place in amounts(question):
        ends = bounds(question, place)
        assert [one.size for one in ends] == [low, high]
        assert ends[0].unit == ends[1].unit


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("opens at 6:30 on Monday", ["6:30", "6:30"]),
        ("opens at 6.30 pm.", ["6.30 pm"]),
        ("at 3 a.m. and 10 o'clock", ["3 a.m.", "10 o'clock"]),
        ("back on 20 April, or April 21", ["20 April", "April 21"]),
        ("on 20 April 1990, 6.30 metres, 3 amps", ["20 April 1990", "6.30 metres", "3"]),
    ],
)
def test_a_time_of_day_or_a_day_of_the_year_is_one(text, found):
    whole = [with_clock_or_day(text, one) for one in amounts(text)]
    assert [text[one.start : one.end] for one in whole] == found


def test_no_bounds():
    for question in ("Was it released in 1960 and 1970?", "Is it 90 minutes to 1960 feet?", "Is it 5?"):
        assert bounds(question, first(question)) is None


def test_the_amount_at_some_characters():
    text = "It lasts 2 hours and 30 minutes, not 4."
    assert amount_at(text, 21, 23) == amount_at(text, 9, 10) == first(text)
    assert amount_at(text, 0, 2) is None
