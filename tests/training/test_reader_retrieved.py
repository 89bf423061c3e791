"""What a reader is made used to: graphs with a fact too few or too many, or about something else."""

import random

from hypothesis import given
from hypothesis import strategies as st

from bgr.data.kb.schema import Fact
from bgr.graph.evidence_graph import ROOT, EvidenceGraph
from training.reader.retrieved import alike, another, beside, with_more, without


def test_what_followed_a_lost_fact_follows_what_was_before_it():
    graph = EvidenceGraph([(ROOT, 0), (ROOT, 3), (0, 1), (3, 1), (1, 2)])
    assert without(graph, 1).edges == {(ROOT, 0), (ROOT, 3), (0, 2), (3, 2)}
    assert without(graph, 0).edges == {(ROOT, 3), (ROOT, 1), (3, 1), (1, 2)}
    assert without(EvidenceGraph([(ROOT, 0)]), 0).edges == frozenset()


@given(st.integers(0, 1_000))
def test_added_facts_hang_on_the_graph(seed):
    graph = EvidenceGraph([(ROOT, 0), (0, 1)])
    found = with_more(graph, [4, 5, 6, 7, 8], 3, random.Random(seed))
    added = set(found.nodes) - {0, 1}
    assert graph.edges <= found.edges
    assert 1 <= len(added) <= 3
    assert added <= {4, 5, 6, 7, 8}
    assert len(found.edges) == 2 + len(added)


def test_a_fact_about_something_else_states_the_same_of_other_things():
    told = [
        [Fact("A", "director", tail="L")],
        [Fact("B", "director", tail="M")],  # the only one
        [Fact("B", "director", tail="L")],  # of the same person
        [Fact("C", "screenwriter", tail="M")],
        [Fact("A", "director", tail="M")],
        [Fact("C", "director", tail="N")],  # evidence
    ]
    graph = EvidenceGraph([(ROOT, 0), (0, 5)])
    assert {another(0, graph, told, random.Random(seed)) for seed in range(20)} == {1}
    assert another(0, graph, [told[0], told[3]], random.Random(0)) is None


def test_a_fact_that_says_something_else_is_about_the_same_thing_and_no_other():
    told = [
        [Fact("A", "director", tail="L")],
        [Fact("A", "runtime")],  # the only one
        [Fact("A", "director", tail="M")],
        [Fact("A", "screenwriter", tail="L")],  # of the same person
        [Fact("B", "runtime")],
        [Fact("A", "release date")],  # evidence
    ]
    graph = EvidenceGraph([(ROOT, 0), (0, 5)])
    assert {beside(0, graph, told, random.Random(seed)) for seed in range(20)} == {1}
    assert beside(0, graph, [told[0], told[4]], random.Random(0)) is None


def test_facts_with_rare_words_of_a_text_are_alike():
    facts = ("The Om is long.", "The Ur is long.", "Om was built by Lee.", "Lee was born in Es.", "The Ar is wide.")
    assert alike("Who built the Om?", facts, range(5)) == [2, 0, 1, 4, 3]
    assert alike("Who built the Om?", facts, [3, 1]) == [1, 3]
    assert alike("", facts, [4, 3]) == [3, 4]
