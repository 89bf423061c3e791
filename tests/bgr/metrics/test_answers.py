"""Scores of answers against values computed by hand, and the normal form of SQuAD's script."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bgr.metrics.answers import answer_em, answer_f1, answer_match, answer_partial, normalize_answer, plain_answer


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
        ('"Diva".', "Diva"),
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


@pytest.mark.parametrize(
    ("text", "plain"),
    [
        ("The  Eiffel Tower!", "eiffel tower"),
        ("A.B. an-other", "ab another"),  # punctuation goes before articles do
        ("the", ""),
        ("Theatre of the absurd", "theatre of absurd"),
        ("3,000 ships", "3000 ships"),
        ("Łódź’s", "łódź’s"),  # only ASCII punctuation goes
    ],
)
def test_plain(text, plain):
    assert plain_answer(text) == plain


def test_em():
    assert answer_em("the Oslo.", ["Bergen", "oslo"]) == 1.0
    assert answer_em("Oslo city", ["Bergen", "oslo"]) == 0.0
    assert answer_em(None, ["oslo"]) == answer_em("oslo", []) == 0.0
    assert answer_em("the", [""]) == 1.0


def test_f1():
    # shared: red, red; 3 predicted words, 4 gold words
    assert answer_f1("red red car", ["a red red big bus"]) == pytest.approx(2 * 2 / (3 + 4))
    assert answer_f1("red car", ["blue", "car"]) == pytest.approx(2 / 3)  # the best of the answers
    assert answer_f1("red", ["red red"]) == pytest.approx(2 / 3)
    assert answer_f1("blue", ["red"]) == 0.0
    assert answer_f1("the", ["an"]) == 1.0
    assert answer_f1("the", ["red"]) == answer_f1("red", ["the"]) == 0.0
    assert answer_f1(None, ["red"]) == answer_f1("red", []) == 0.0


@pytest.mark.parametrize(
    ("predicted", "answers", "wanted"),
    [
        ("the Oslo.", ["Bergen", "oslo"], 1),
        ("Oslo, in Norway", ["Oslo"], 1),
        ("Stanley Hall", ["G. Stanley Hall"], 1),
        ("G. Hall", ["G. Stanley Hall"], 0),  # not side by side
        ("Hall Stanley", ["Stanley Hall"], 0),
        ("Os", ["Oslo"], 0),  # whole words only
        ("18", ["1812"], 0),
        ("the", ["The a"], 1),
        ("the", ["Oslo"], 0),
        ("Oslo", ["the"], 0),
        (None, ["Oslo"], 0),
        ("Oslo", [], 0),
    ],
)
def test_partial(predicted, answers, wanted):
    assert answer_partial(predicted, answers) == wanted
    assert answer_partial(predicted, answers) >= answer_em(predicted, answers)
