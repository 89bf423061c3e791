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
