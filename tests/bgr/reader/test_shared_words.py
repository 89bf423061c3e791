"""Names that recur in the sentences of a question."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bgr.reader.shared_words import Shared, shared_runs, words_of


def runs(question, *facts):
    found = shared_runs(words_of(question), [words_of(fact) for fact in facts])
    return [{fact[a:b]: shared for (a, b), shared in row.items()} for fact, row in zip(facts, found, strict=True)]


def test_a_name_in_small_letters_ends_where_the_other_sentence_goes_on():
    one, two = runs(
        "Which film?", "Mauvais sang, in French, was made.", "It takes an hour to see Mauvais sang from start."
    )
    assert one["Mauvais sang"] == two["Mauvais sang"] == Shared(question=False, fact=True)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("ethyl 3-hexenoate", "Ethyl 3-hexenoate boils early."),
        ("Brand upon the Brain!", "The words of Brand upon the Brain! came late."),
        ("Sign o' the Times", "Ann acted in Sign o' the Times."),
        ("Totally F***ed Up", "Totally F***ed Up is long."),
        ("germanium(IV) sulfide", "Germanium(IV) sulfide is one."),
    ],
)
def test_whatever_its_letters_are(name, text):
    [row] = runs(f"Is {name} it?", text)
    place = text.lower().index(name.lower())
    assert row[text[place : place + len(name)]] == Shared(question=True, fact=False)


def test_small_words_and_common_ones_are_no_names():
    [row] = runs("Who is the director of Alpha?", "Ann is the director of Alpha.")
    assert set(row) == {"director of Alpha", "Alpha"} or set(row) == {"is the director of Alpha"}
    assert runs("who is it?", "who is it not?") == [{}]


@given(st.integers(0, 10_000))
def test_a_run_is_in_both_and_cannot_be_longer(seed):
    draw = random.Random(seed)
    one, two = (" ".join(draw.choice(["A", "b", "c", "of", ","]) for _ in range(8)) for _ in range(2))
    [row] = runs(one, two)
    for run in row:
        assert run.lower() in one.lower()
        assert any(letter.isupper() for letter in run)
    whole = [word for word in two.split() if word == "A"]
    if whole and "A" in one.split():
        assert row
