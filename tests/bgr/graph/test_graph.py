"""The evidence graph: constraints, measures and order."""

import random

import networkx as nx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bgr.errors import GraphError
from bgr.graph.evidence_graph import ROOT, EvidenceGraph

# "How long is the film of 1963 that Ingmar Bergman directed and Max von Sydow appears in?" (data.md, section 6)
JOIN = EvidenceGraph([(ROOT, 3), (ROOT, 1), (3, 0), (1, 0), (0, 2)])


@st.composite
def graphs(draw: st.DrawFn) -> EvidenceGraph:
    rng = random.Random(draw(st.integers(0, 2**32)))
    nodes = rng.sample(range(12), draw(st.integers(0, 9)))
    edges = []
    for place, node in enumerate(nodes):
        edges += [(p, node) for p in rng.sample([ROOT, *nodes[:place]], rng.randint(1, min(3, place + 1)))]
    return EvidenceGraph(edges)


@pytest.mark.parametrize(
    ("edges", "message"),
    [
        ([(ROOT, 0), (0, ROOT)], "0 -> Q"),
        ([(ROOT, 0), (0, 1), (1, 0)], "cycle"),
        ([(ROOT, 0), (0, 0)], "cycle"),
        ([(ROOT, 0), (1, 2)], r"\[1, 2\]"),
        ([(0, 1)], r"\[0, 1\]"),
        ([(-2, 1)], "-2 -> 1"),
        ([(ROOT, -3)], "-1 -> -3"),
    ],
)
def test_broken_constraints_are_refused(edges, message):
    with pytest.raises(GraphError, match=message):
        EvidenceGraph(edges)


def test_empty_graph():
    empty = EvidenceGraph()
    assert (empty.nodes, empty.leaves, empty.order(), empty.hops, empty.chains) == ((), (), [], 0, 0)
    assert empty.structure == "SC-SH"


def test_identity_is_the_edges():
    same = EvidenceGraph([(0, 2), (1, 0), (3, 0), (ROOT, 1), (ROOT, 3), (ROOT, 3)], {(0, 2): 0.5})
    assert same == JOIN
    assert hash(same) == hash(JOIN)
    assert EvidenceGraph([(ROOT, 0)]) != JOIN


def test_measures():
    assert JOIN.nodes == (0, 1, 2, 3)
    assert JOIN.successors(ROOT) == (1, 3)
    assert JOIN.predecessors(0) == (1, 3)
    assert JOIN.leaves == (2,)
    assert (JOIN.hops, JOIN.chains, JOIN.structure) == (3, 1, "MC-MH")


@pytest.mark.parametrize(
    ("edges", "structure", "hops", "chains"),
    [
        ([(ROOT, 0)], "SC-SH", 1, 1),
        ([(ROOT, 0), (0, 1)], "SC-MH", 2, 1),
        ([(ROOT, 0), (ROOT, 1)], "MC-SH", 1, 2),
        ([(ROOT, 0), (0, 1), (0, 2)], "MC-MH", 2, 2),
    ],
)
def test_structures(edges, structure, hops, chains):
    graph = EvidenceGraph(edges)
    assert (graph.structure, graph.hops, graph.chains) == (structure, hops, chains)


def test_order_is_by_chains_and_joins_wait():
    assert JOIN.order() == [1, 3, 0, 2]
    chains = EvidenceGraph([(ROOT, 5), (5, 1), (ROOT, 2), (2, 4)])
    assert chains.order() == [2, 4, 5, 1]


@given(graphs())
def test_order_is_topological_and_complete(graph):
    order = graph.order()
    assert sorted(order) == list(graph.nodes)
    place = {ROOT: -1, **{node: number for number, node in enumerate(order)}}
    assert all(place[a] < place[b] for a, b in graph.edges)


@given(graphs())
def test_hops_is_the_longest_path(graph):
    paths = [len(path) - 1 for leaf in graph.leaves for path in nx.all_simple_paths(graph.to_networkx(), ROOT, leaf)]
    assert graph.hops == max(paths, default=0)
    assert graph.chains == sum(not graph.successors(node) for node in graph.nodes)


def test_reachable_drops_what_hangs_loose():
    graph = EvidenceGraph.reachable([(ROOT, 0), (0, 1), (2, 1), (3, 4)], {(0, 1): 0.9, (3, 4): 0.8})
    assert graph.edges == {(ROOT, 0), (0, 1)}
    assert graph.scores == {(0, 1): 0.9}


def test_relabel_and_json():
    moved = JOIN.relabel({0: 10, 1: 11, 2: 12, 3: 13})
    assert moved.to_json() == [[-1, 11], [-1, 13], [10, 12], [11, 10], [13, 10]]
    assert moved.relabel({10: 0, 11: 1, 12: 2, 13: 3}) == JOIN
    scored = EvidenceGraph([(ROOT, 0), (0, 1)], {(0, 1): 0.25}).relabel({0: 1, 1: 0})
    assert scored.scores == {(1, 0): 0.25}


def test_networkx_holds_root_and_scores():
    assert list(EvidenceGraph().to_networkx()) == [ROOT]
    graph = EvidenceGraph([(ROOT, 0), (0, 1)], {(0, 1): 0.25}).to_networkx()
    assert graph.edges[0, 1]["score"] == 0.25
    assert "score" not in graph.edges[ROOT, 0]
