"""Sequences of words that other questions have."""

from __future__ import annotations

import pytest

from bgr.data.reasongraphqa.paraphrase.attested import Attested
from bgr.data.reasongraphqa.paraphrase.check import UNATTESTED, find_problem

BERG = ("Find", "Ada Berg"), ("Relate", "director", "backward"), ("Count",)
LIND = ("Find", "Bo Lind"), ("Relate", "director", "backward"), ("Count",)
COUNT = "How many films did Ada Berg direct?"
CORPUS = (
    "How many films were directed by Bo Lind?",
    "How many films were directed by Bo Lind in all?",
    "What is the number of films directed by Bo Lind?",
    "What is the number of films that Bo Lind directed?",
)


@pytest.fixture
def asked(question):
    return question(COUNT, *BERG)


@pytest.fixture
def attested(question):
    """``attested(least)``: of the questions above."""
    return lambda least: Attested((question(text, *LIND) for text in CORPUS), least)


@pytest.mark.parametrize(
    ("text", "most"),
    [
        ("How many movies were directed by Ada Berg?", 2),
        ("What is the number of movies directed by Ada Berg?", 1),
        ("What is the number of films did Ada Berg direct?", 0),
        ("How many films did Ada Berg directed?", 0),
        ("The number of films directed by Ada Berg?", 0),
        ("How many films did Ada Berg direct in?", 0),
    ],
)
def test_all_sequences_are_the_questions_or_in_enough_others(asked, attested, text, most):
    assert [attested(least).has(asked, text) for least in (1, 2, 3)] == [least <= most for least in (1, 2, 3)]


def test_numbers_are_alike(question):
    steps = LIND[:2]
    corpus = Attested([question("Which film by Bo Lind has 1,000 reviews?", *steps, ("What",))], 1)
    one = question("What film by Ada Berg has just 7 reviews?", *BERG[:2], ("What",))
    assert corpus.has(one, "What film by Ada Berg has 7 reviews?")
    assert not corpus.has(one, "What film by Ada Berg has seven reviews?")


def test_it_is_the_last_check(asked, attested):
    good, odd = "What is the number of movies directed by Ada Berg?", "Count the movies directed by Ada Berg."
    assert find_problem(asked, odd) is None
    assert find_problem(asked, odd, attested=attested(1)) == UNATTESTED
    assert find_problem(asked, good, attested=attested(1)) is None
    assert find_problem(asked, good, [good], attested(1)) == "a copy"
    assert find_problem(asked, "How many movies were directed by Bo Lind?", attested=attested(1)) == "a name is lost"
