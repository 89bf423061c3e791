"""Questions as people type them."""

import random

from hypothesis import given
from hypothesis import strategies as st

from bgr.utils.spelling import hasty, one_mistake_before, with_typo, without_mark

QUESTION = "Which film by Ingmar Bergman from 1966 was made before Persona?"


def distance(one, other):
    """Levenshtein's distance, by its definition."""
    rows = [list(range(len(other) + 1))]
    for i, a in enumerate(one, 1):
        row = [i]
        for j, b in enumerate(other, 1):
            row.append(min(rows[-1][j] + 1, row[-1] + 1, rows[-1][j - 1] + (a != b)))
        rows.append(row)
    return rows[-1][-1]


@given(st.integers(0, 10_000))
def test_a_typing_mistake_is_one_and_spares_names_and_numbers(seed):
    found = with_typo(QUESTION, random.Random(seed))
    assert distance(found, QUESTION) <= 2
    assert all(name in found.split() for name in ("Ingmar", "Bergman", "1966", "Persona?"))


def test_every_way_of_haste_occurs_and_repeats():
    found = {hasty(QUESTION, random.Random(seed)) for seed in range(200)}
    assert QUESTION.removesuffix("?") in found
    assert QUESTION.removesuffix("?").lower() in found
    assert any(one.endswith("?") and distance(one, QUESTION) in (1, 2) for one in found)
    assert hasty(QUESTION, random.Random(5)) == hasty(QUESTION, random.Random(5))
    assert hasty("Why?", random.Random(0)).lower() in ("why", "why?")
    assert without_mark("Who is it ? ") == "Who is it"


@given(st.text("abcxyz", min_size=4, max_size=9), st.integers(0, 10_000))
def test_what_was_meant_is_among_what_is_one_mistake_before(word, seed):
    typed = with_typo(word, random.Random(seed))
    assert typed == word or one_mistake_before(typed)[word] > 0


@given(st.text("abc", min_size=1, max_size=5))
def test_before_one_mistake_no_text_is_farther(word):
    found = one_mistake_before(word)
    assert word not in found
    assert all(distance(one, word) == 1 or sorted(one) == sorted(word) for one in found)


def test_some_mistakes_are_more_likely_than_others():
    found = one_mistake_before("fillm")
    assert found["film"] == found["fillmy"] == found["fillim"] == found["flilm"] == 1  # one twice, missing, swapped
    assert found["fills"] == found["film"] / 25
