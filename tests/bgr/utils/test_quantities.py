"""Numbers and dates in sentences."""

import pytest

from bgr.utils.quantities import find_quantities, scaled_quantities


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("scored 93% in 1988.", ["93", "1988"]),
        ("1,814.15 kelvins and 19,000,000 dollars", ["1814.15", "19000000"]),
        ("on the 31st of August 2006, or April 26, 2002", ["2006-08-31", "2002-04-26"]),
        ("12 August 1970; 1970-08-12; 1970/8/12.", ["1970-08-12"] * 3),
        ("5x2, tt0477206, B12, 7th, v1.2.3", []),
        ("a 60-minute film, -3 degrees", ["60", "-3"]),
        ("dial +1-649", ["1", "649"]),
        ("February 30, 2001", ["30", "2001"]),  # no such day
        ("", []),
        ("9" * 41, []),
        ("It is 1.85m or 1,234.5km long, 70kg, 8mm, 4.3.2.1, 1,00,000.", ["1.85", "1234.5", "70"]),
        ("US$1.5m, £2m, 5m.", ["5"]),
        ("1,2-butadiene", ["1"]),
    ],
)
def test_they_are_found_in_plain_form(text, found):
    assert [quantity.text for quantity in find_quantities(text)] == found


def test_places_and_sizes():
    text = "In 2006 or on May 3, 2006 or in 2007"
    year, date, later = find_quantities(text)
    assert text[date.start : date.end] == "May 3, 2006"
    assert (year.date, date.date) == (False, True)
    assert year.size == 2006 < date.size < later.size


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("printed on 4 Auguſt 1776.", ["4", "1776"]),
        ("Auguſt 4, 1776", ["4", "1776"]),
        ("Ten thouſand men.", []),
        ("3 mıllıon people.", ["3"]),
        ("ſix million people.", []),
    ],
)
def test_letters_that_only_unicode_takes_for_s_and_i_are_of_other_words(text, found):
    assert [quantity.text for quantity in find_quantities(text)] == found
    assert [(quantity.text, quantity.size) for quantity in scaled_quantities(text)] == [
        (number, float(number)) for number in found
    ]


def test_dates_keep_their_order():
    days = [find_quantities(text)[0].size for text in ("2003-12-31", "2004-01-01", "2004-12-30", "2004-12-31", "2005")]
    assert days == sorted(set(days))


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("two hundred thousand or 3 hundred thousand", [("two", 200_000), ("3", 300_000)]),
        ("1.5 million in 2 hours", [("1.5", 1.5e6), ("2", 120)]),
        ("2 hours and 30 minutes", [("2", 150), ("30", 150)]),
        ("one hour, 5 min, 7 films", [("one", 65), ("5", 65), ("7", 7)]),
        ("2 hours and 90 minutes, 2 hours 30", [("2", 120), ("90", 90), ("2", 120), ("30", 30)]),
        ("over two and a half hours", [("two and a half", 150)]),
        (
            "twenty-seven years, ninety minutes, eighteen thousand",
            [("twenty-seven", 27), ("ninety", 90), ("eighteen", 18_000)],
        ),
        ("Nine Months is nine months long, a day or two", [("nine", 9)]),
        ("753 BC, 44 B.C., 12 BCE or 5 BCs", [("753", -753), ("44", -44), ("12", -12), ("5", 5)]),
        ("minus 182 feet, Aminus 3", [("minus 182", -182), ("3", 3)]),
    ],
)
def test_words_around_a_number_are_of_its_size(text, found):
    assert [(text[one.start : one.end], one.size) for one in scaled_quantities(text)] == found
