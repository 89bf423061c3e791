"""Questions about something that no fact is about."""

import random

import pytest

from bgr.data.example import Example
from bgr.graph.evidence_graph import ROOT, EvidenceGraph
from training.questions.unanswerable import ForeignWords, about_something_else

QUESTION = "What is the capital of the country that made Persona?"
GRAPH = EvidenceGraph([(ROOT, 0), (0, 1)])
EXAMPLE = Example(
    "e", QUESTION, ("Persona was made in Sweden.", "Stockholm is its capital."), GRAPH, "Stockholm", (), "query"
)


def test_words_that_the_data_have_and_parts_of_words_are_left_out():
    vocabulary = ["guitar", "##tar", "capital", "[PAD]", "persona", "whose", "1982", "été", "cat", "telephone"]
    texts = [QUESTION, "The capital, Stockholm."]
    assert ForeignWords(vocabulary, texts).words == ["guitar", "telephone"]


def test_one_word_is_another_and_names_stay():
    found = {ForeignWords(["guitar"], []).question(QUESTION, random.Random(seed)) for seed in range(30)}
    assert found == {
        "What is the guitar of the country that made Persona?",
        "What is the capital of the guitar that made Persona?",
    }  # "made" is a function word


def test_a_verb_becomes_one_of_the_same_form_and_the_same_seed_draws_the_same():
    words = [*(f"{letter}{other}ed" for letter in "abcde" for other in "fghij"), *"guitar sofa piano drum".split()]
    foreign = ForeignWords(words, [])
    found = [foreign.question("Who directed Fargo?", random.Random(seed)) for seed in range(20)]
    assert {one.split()[1][-2:] for one in found} == {"ed"}
    assert found == [foreign.question("Who directed Fargo?", random.Random(seed)) for seed in range(20)]


@pytest.mark.parametrize("question", ["Who is Ingmar Bergman?", "Sweden?", ""])
def test_a_question_of_names_alone_has_none(question):
    assert ForeignWords(["guitar"], []).question(question, random.Random(0)) is None


def test_the_example_loses_its_graph_and_keeps_its_candidates():
    other = "What is the guitar of the country that made Persona?"
    found = about_something_else(EXAMPLE, {QUESTION: other})
    assert (found.question, found.facts, found.answerable, found.missing) == (other, EXAMPLE.facts, False, "all")
    assert about_something_else(EXAMPLE, {}) is None
