"""Evidence graphs from triples: always a DAG that hangs from the question."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from bgr.collection.triples.index import TripleIndex
from bgr.collection.triples.triple import Triple
from bgr.graph.evidence_graph import ROOT
from bgr.retrievers.gear.beam import Beams
from bgr.retrievers.gear.expansion import beam_graph, linked_graph


def ones(texts):
    return np.ones((len(texts), 2), dtype=np.float32)


def test_an_edge_goes_from_the_passage_that_comes_first(index):
    beams = Beams(np.array([[4, 2], [2, 1]]), np.zeros(2))  # passages 2 → 1, and 1 → 0
    graph = beam_graph(index, beams)
    assert graph.edges == {(ROOT, 2), (ROOT, 1), (2, 1), (1, 0)}


def test_two_beams_against_each_other_make_no_cycle(index):
    beams = Beams(np.array([[4, 2], [3, 4]]), np.zeros(2))  # passages 2 → 1 and 1 → 2
    assert beam_graph(index, beams).edges == {(ROOT, 2), (ROOT, 1), (2, 1)}


def test_linked_triples_meet_in_their_entities(index):
    graph = linked_graph(index, [1, 5, 2, 4, 2], [2, 0, 1, 3])
    assert graph.edges == {(ROOT, 0), (ROOT, 3), (0, 1), (1, 2)}


def test_a_linked_passage_that_the_result_lacks_is_left_out(index):
    assert linked_graph(index, [2, 1], [0]).edges == {(ROOT, 0)}


def test_no_triples_no_edges(index):
    assert linked_graph(index, [], [0]).edges == frozenset()
    assert beam_graph(index, Beams(np.zeros((0, 1), dtype=np.int64), np.zeros(0))).edges == frozenset()


@given(st.data())
def test_any_beams_and_links_make_a_valid_graph(data):
    number = st.integers(0, 11)
    ends = data.draw(
        st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4), st.integers(0, 5)), min_size=12, max_size=12)
    )
    index = TripleIndex.build([Triple(f"e{a}", f"r{n}", f"e{b}", p) for n, (a, b, p) in enumerate(ends)], ones)
    rows = data.draw(st.lists(st.tuples(number, number, number), max_size=6))
    beams = Beams(np.array(rows, dtype=np.int64).reshape(len(rows), 3), np.zeros(len(rows)))
    passages = {ends[n][2] for row in rows for n in row}
    assert set(beam_graph(index, beams).nodes) == passages
    assert set(linked_graph(index, beams.flat(), range(6)).nodes) == passages
