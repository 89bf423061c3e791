"""Graph Matching and Graph Structure against their definitions and against networkx."""

import random
from itertools import permutations

import networkx as nx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bgr.graph import ROOT, EvidenceGraph
from bgr.metrics.gm import graph_match
from bgr.metrics.gs import graph_structure_match

EMPTY = EvidenceGraph()


def random_graph(rng: random.Random, facts: int, pool: int = 7, extra: float = 0.4) -> EvidenceGraph:
    """Any rooted DAG over `facts` of the fact numbers 0 … pool-1."""
    nodes = rng.sample(range(pool), facts)
    edges = []
    for place, node in enumerate(nodes):
        parents = 1 + sum(rng.random() < extra for _ in range(2))
        edges += [(p, node) for p in rng.sample([ROOT, *nodes[:place]], min(parents, place + 1))]
    return EvidenceGraph(edges)


@st.composite
def graphs(draw: st.DrawFn) -> EvidenceGraph:
    return random_graph(random.Random(draw(st.integers(0, 2**32))), draw(st.integers(0, 7)))


def networkx_says(a: EvidenceGraph, b: EvidenceGraph) -> bool:
    first, second = a.to_networkx(), b.to_networkx()
    for graph in (first, second):
        nx.set_node_attributes(graph, {n: n == ROOT for n in graph}, "root")
    return nx.is_isomorphic(first, second, node_match=lambda x, y: x["root"] == y["root"])


def brute_force(a: EvidenceGraph, b: EvidenceGraph) -> bool:
    if len(a.nodes) != len(b.nodes):
        return False
    images = (dict(zip(a.nodes, order, strict=True)) for order in permutations(b.nodes))
    return any(a.relabel(image).edges == b.edges for image in images)


def test_match_counts_identity_and_direction():
    gold = EvidenceGraph([(ROOT, 0), (0, 1)])
    assert graph_match(EvidenceGraph([(0, 1), (ROOT, 0)]), gold)
    assert not graph_match(EvidenceGraph([(ROOT, 1), (1, 0)]), gold)
    assert not graph_match(EvidenceGraph([(ROOT, 0)]), gold)
    assert graph_match(EMPTY, EMPTY)
    assert not graph_match(EMPTY, gold)


def test_structure_ignores_identity_and_pins_the_root():
    assert graph_structure_match(EvidenceGraph([(ROOT, 5), (5, 2)]), EvidenceGraph([(ROOT, 0), (0, 1)]))
    assert not graph_structure_match(EvidenceGraph([(ROOT, 0), (ROOT, 1)]), EvidenceGraph([(ROOT, 0), (0, 1)]))
    assert graph_structure_match(EMPTY, EMPTY)
    assert not graph_structure_match(EMPTY, EvidenceGraph([(ROOT, 0)]))


@pytest.mark.parametrize("seed", range(4))
def test_structure_equals_networkx(seed):
    rng = random.Random(seed)
    found = 0
    for _ in range(300):
        facts = rng.randint(0, 5)
        a, b = random_graph(rng, facts), random_graph(rng, facts)
        found += networkx_says(a, b)
        assert graph_structure_match(a, b) == networkx_says(a, b), (a, b)
    assert 20 < found < 280


def test_structure_equals_brute_force():
    rng = random.Random(9)
    for _ in range(200):
        facts = rng.randint(0, 5)
        a, b = random_graph(rng, facts), random_graph(rng, facts)
        assert graph_structure_match(a, b) == brute_force(a, b), (a, b)


def test_what_refinement_cannot_tell_apart_is_searched():
    """Six facts over six: one 12-ring against two 6-rings (edges top to bottom). Every node looks alike."""
    top = [(ROOT, n) for n in range(6)]
    ring = [(n, 6 + n) for n in range(6)] + [(n, 6 + (n + 1) % 6) for n in range(6)]
    pair = [(n, 6 + n) for n in range(6)] + [(n, 6 + n // 3 * 3 + (n + 1) % 3) for n in range(6)]
    places = dict(zip(range(12), random.Random(1).sample(range(12), 12), strict=True))
    one, two = EvidenceGraph(top + ring), EvidenceGraph(top + pair)
    assert not graph_structure_match(one, two)
    assert graph_structure_match(one, one.relabel(places))
    assert graph_structure_match(two, two.relabel(places))


@given(graphs(), st.randoms(use_true_random=False))
@settings(max_examples=150, deadline=None)
def test_structure_survives_renaming(graph, rng):
    places = dict(zip(range(7), rng.sample(range(20), 7), strict=True))
    assert graph_structure_match(graph, graph.relabel(places))
    assert graph_structure_match(graph.relabel(places), graph)


@given(graphs(), graphs())
@settings(max_examples=150, deadline=None)
def test_match_implies_structure_and_both_are_symmetric(a, b):
    assert graph_match(a, b) == graph_match(b, a)
    assert graph_structure_match(a, b) == graph_structure_match(b, a)
    assert graph_structure_match(a, b) or not graph_match(a, b)
