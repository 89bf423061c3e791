"""Counts under a condition by the words of question and facts alone."""

import pytest

from bgr.reader.counting import count_stated
from bgr.utils.quantities import spelled_as_digits

TOWERS = ("Moor built four towers.", "Om is 90 metres high.", "The height of Ur is 0.12 km.", "Es measures 300 feet.")
LEVERS = ("Twelve levers were enough for Elm.", "Marsh has 30 levers.", "There are 18 levers in Gate.")
OPENED = ("Om opened on 3 May 1921.", "Ur was opened in 1935.", "Es has been open since 1950.")


@pytest.mark.parametrize(
    ("question", "facts", "answer", "counted"),
    [
        ("How many of Moor's towers are more than 91 metres high?", TOWERS, "2", (2, 3)),
        ("How many of Moor's towers are less than 0.1 km high?", TOWERS, "2", (1, 3)),
        ("How many of Moor's towers are taller than 91 metres?", TOWERS, "2", (2, 3)),
        ("How many of Moor's towers are shallower than 91 metres?", TOWERS, "1", (1,)),
        ("Count the towers that are between 90 and 100 metres high.", TOWERS, "2", (1, 3)),
        ("What is the number of towers over ninety metres?", TOWERS, "2", (2, 3)),
        ("How many boxes have more than 15 levers?", LEVERS, "2", (1, 2)),
        ("How many boxes have more than ten levers?", LEVERS, "3", (0, 1, 2)),
        ("How many have at least eighteen levers?", LEVERS, "2", (1, 2)),
        ("How many were opened before 1935?", OPENED, "1", (0,)),
        ("How many were opened after 1930?", OPENED, "2", (1, 2)),
        ("Of Om, Ur and Es, how many opened between 1920 and 1940?", OPENED, "2", (0, 1)),
    ],
)
def test_the_facts_that_fit_are_counted(question, facts, answer, counted):
    found = count_stated(question, facts)
    assert (found.text, found.facts) == (answer, counted)
    assert [bool(facts[n][one.start : one.end].strip()) for n, one in zip(found.facts, found.amounts, strict=True)]


@pytest.mark.parametrize(
    ("question", "facts"),
    [
        ("Which of the towers is over 90 metres high?", TOWERS),  # not a count
        ("Is the number of towers over 90 metres?", TOWERS),  # nor this
        ("How many towers did Moor build?", TOWERS),  # no condition
        ("How many towers are 90 metres high?", TOWERS),  # not a bound
        ("How many towers are over 90 metres high and under 100 metres?", TOWERS),  # two of them
        ("How many towers are over 90 metres high?", TOWERS[:2]),  # one fact
        ("How many towers weigh over 90 tonnes?", TOWERS),  # of another kind
        ("How many towers are over 900 metres high?", TOWERS),  # none of them
        ("How many towers are over 90 metres high?", (*TOWERS, "Ar is 90 metres high and 20 metres wide.")),
        ("How many boxes have more than 15 levers?", (*LEVERS, "The count of levers of Ash stands at 17.")),
        ("How many were opened before 1940?", (*OPENED, "Ur opened in 1935.")),  # the same again?
        ("How many were opened before 1940?", (*OPENED, "Ar opened in 1935 and closed in 1936.")),
        ("", ()),
    ],
)
def test_what_is_not_settled_is_left_open(question, facts):
    assert count_stated(question, facts) is None


def test_numbers_in_words_become_digits_in_place():
    text = "More than ten rooms, one tower and Twenty-One Doors; twelve."
    assert spelled_as_digits(text) == "More than  10 rooms, one tower and Twenty-One Doors; twelve."
    assert spelled_as_digits("Twelve levers") == "    12 levers"
