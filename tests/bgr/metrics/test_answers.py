"""QA EM: pairs of answers that are equal or not."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bgr.metrics.answers import answer_match, normalize_answer


@pytest.mark.parametrize(
    ("predicted", "gold"),
    [
        ("Yes", "yes"),
        (" yes. ", "yes"),
        ("92 minutes", "92 minute"),
        ("1,950", "1950"),
        ("31%", "31 percent"),
        ("73 per cent", "73 percent"),
        ("May 3, 1990", "1990-05-03"),
        ("1990/05/03", "1990-05-03"),
        ("62.0 kelvins", "62 kelvin"),
        ("19000000 United States dollars", "19,000,000 United States dollar"),
        ("Rome, Paris", "Paris and Rome"),
        ("rhenium", "Rhenium"),
        ('"Diva"', "Diva"),
    ],
)
def test_these_are_equal(predicted, gold):
    assert answer_match(predicted, gold)
    assert answer_match(gold, predicted)


@pytest.mark.parametrize(
    ("predicted", "gold"),
    [
        (None, "yes"),
        ("", "yes"),
        ("no", "yes"),
        ("92", "92 minute"),
        ("92 hours", "92 minute"),
        ("93 minute", "92 minute"),
        ("1990", "1990-05-03"),
        ("Thing", "The Thing"),
        ("Rome", "Rome, Paris"),
        ("1.5", "1.50001"),
        ("José", "Jose"),
    ],
)
def test_these_are_not(predicted, gold):
    assert not answer_match(predicted, gold)


@given(st.text())
def test_any_text_has_a_normal_form_that_rests(text):
    assert answer_match(text, text)
    assert isinstance(normalize_answer(text), str)


@given(st.integers(-(10**9), 10**9))
def test_numbers_are_equal_with_separators(number):
    assert answer_match(f"{number:,}", str(number))
    assert not answer_match(str(number + 1 + abs(number)), str(number - 1))
