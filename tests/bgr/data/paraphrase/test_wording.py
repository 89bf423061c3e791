"""Quantities with units and comparisons, directions and negations in texts."""

from __future__ import annotations

import datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bgr.data.reasongraphqa.paraphrase.wording import directions, holds, mask, negations
from bgr.utils.quantities import measures


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("over 2 million people", [(2e6, "", ">")]),
        ("over 2,000,000 people", [(2e6, "", ">")]),
        ("more than two million people", [(2e6, "", ">")]),
        ("a million people", [(1e6, "", "=")]),
        ("less than $70 million", [(7e7, "dollar", "<")]),
        ("under 70 million US dollars", [(7e7, "dollar", "<")]),
        ("below 1.5 billion dollars", [(1.5e9, "dollar", "<")]),
        ("lasts 2 hours", [(120.0, "minute", "=")]),
        ("a 120-minute film", [(120.0, "minute", "=")]),
        ("95 min", [(95.0, "minute", "=")]),
        ("scored 57 points of 100", [(57.0, "", "=")]),
        ("90 out of 100", [(90.0, "", "=")]),
        ("60%", [(60.0, "percent", "=")]),
        ("60 per cent or more", [(60.0, "percent", ">=")]),
        ("at least 60 percent", [(60.0, "percent", ">=")]),
        ("no more than 60 percent", [(60.0, "percent", "<=")]),
        ("does not exceed 60 percent", [(60.0, "percent", "<=")]),
        ("exceeds 60 percent", [(60.0, "percent", ">")]),
        ("on 5 May 1963", [("1963-05-05", "", "=")]),
        ("before May 5, 1963", [("1963-05-05", "", "<")]),
        ("later than on the 5th of May 1963", [("1963-05-05", "", ">")]),
        ("in 1963", [(1963.0, "", "=")]),
        ("after the end of 1963", [(1963.0, "", ">")]),
        ("before the start of the year 1963", [(1963.0, "", "<")]),
        ("since 1963", [(1963.0, "", ">=")]),
        ("about 300 km²", [(300.0, "square kilometre", "~")]),
        ("300 square kilometers", [(300.0, "square kilometre", "=")]),
        ("denser than 5 g/cm³", [(5.0, "gram per cubic centimetre", ">")]),
        ("not in 1963", [(1963.0, "", "!=")]),
        ("from 1950 to 90 feet", [(1950.0, "", ">="), (90.0, "foot", "=")]),
        ("nothing", []),
    ],
)
def test_measures(text, expected):
    assert [(one.value, one.unit, one.op) for one in measures(text)] == expected


@given(st.dates(datetime.date(1000, 1, 1), datetime.date(2999, 12, 31)))
def test_a_date_is_the_same_in_every_form(date):
    forms = [date.isoformat(), f"{date.day} {date:%B} {date.year}", f"{date:%B} {date.day}, {date.year}"]
    found = [measures(f"out on {form}") for form in forms]
    assert all(len(one) == 1 for one in found)
    assert all(one[0].same_value(found[0][0]) for one in found)
    year = measures(f"out in {date.year}")[0]
    assert not found[0][0].same_value(year)


@given(st.integers(1, 999), st.sampled_from(["thousand", "million", "billion"]))
def test_scales_have_values(number, word):
    size = {"thousand": 10**3, "million": 10**6, "billion": 10**9}[word]
    [a], [b] = measures(f"{number} {word} people"), measures(f"{number * size:,} people")
    assert a.same_value(b)
    [c] = measures(f"{number + 1} {word} people")
    assert not a.same_value(c)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("which is longer", {"more"}),
        ("which is the shortest", {"less"}),
        ("which ran longer than 90 minutes", set()),
        ("which took less money, of those over $5 million", {"less"}),
        ("more reviews and the lower score", {"more", "less"}),
        ("the earliest one", {"less"}),
        ("less dense", {"less"}),
        ("who made it", set()),
    ],
)
def test_directions(text, expected):
    assert directions(text) == expected


@pytest.mark.parametrize(
    ("text", "count"),
    [("is it long, yes or no", 0), ("is it not long", 1), ("doesn't run", 1), ("no film without end", 2), ("north", 0)],
)
def test_negations(text, count):
    assert negations(text) == count


def test_words_of_names_are_not_words_of_the_question():
    names = ["No Country for Old Men", "The Longest Day", "28 Days Later", "28 Days", "Before 1914"]
    text = "Which is older: No Country for Old Men, The Longest Day, 28 Days Later, 28 Days or Before 1914?"
    masked = mask(text, names)
    assert masked == "Which is older: §, §, §, § or §?"
    assert (measures(masked), negations(masked), directions(masked)) == ([], 0, {"less"})


def test_names_are_whole_and_have_their_case():
    assert holds("the domain .bh, it is", ".bh")
    assert holds("Who made 'R'?", "R")
    assert not holds("Who made Rain?", "R")
    assert not holds("who made persona", "Persona")
    assert mask("Rain in R", ["R"]) == "Rain in §"
