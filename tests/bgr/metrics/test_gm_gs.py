"""Graph Matching and Graph Structure against their definitions and against networkx."""

import random
from itertools import permutations

import networkx as nx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bgr.graph.evidence_graph import ROOT, EvidenceGraph
from bgr.metrics.gm_gs import graph_match, graph_structure_match
from eval.bench.ged import networkx_graph, with_mistakes
from eval.bench.ged import random_graph as evidence_graph

EMPTY = EvidenceGraph()


def random_graph(rng: random.Random, facts: int, pool: int = 7, extra: float = 0.4) -> EvidenceGraph:
    """A random rooted DAG over `facts` of the fact numbers 0 … pool-1."""
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
    """Isomorphic with root mapped to root (VF2)."""
    first, second = networkx_graph(a), networkx_graph(b)
    return nx.is_isomorphic(first, second, node_match=lambda x, y: (x["fact"] == ROOT) == (y["fact"] == ROOT))


def shuffled(rng: random.Random, graph: EvidenceGraph) -> EvidenceGraph:
    return graph.relabel(dict(zip(graph.nodes, rng.sample(range(40), len(graph.nodes)), strict=True)))


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
    """Six facts over six: one 12-ring against two 6-rings (edges from top to bottom). All nodes have the same
    degrees."""
    top = [(ROOT, n) for n in range(6)]
    ring = [(n, 6 + n) for n in range(6)] + [(n, 6 + (n + 1) % 6) for n in range(6)]
    pair = [(n, 6 + n) for n in range(6)] + [(n, 6 + n // 3 * 3 + (n + 1) % 3) for n in range(6)]
    places = dict(zip(range(12), random.Random(1).sample(range(12), 12), strict=True))
    one, two = EvidenceGraph(top + ring), EvidenceGraph(top + pair)
    assert not graph_structure_match(one, two)
    assert graph_structure_match(one, one.relabel(places))
    assert graph_structure_match(two, two.relabel(places))


@given(graphs(), st.randoms(use_true_random=False))
def test_structure_survives_renaming(graph, rng):
    places = dict(zip(range(7), rng.sample(range(20), 7), strict=True))
    assert graph_structure_match(graph, graph.relabel(places))
    assert graph_structure_match(graph.relabel(places), graph)


@given(graphs(), graphs())
def test_match_implies_structure_and_both_are_symmetric(a, b):
    assert graph_match(a, b) == graph_match(b, a)
    assert graph_structure_match(a, b) == graph_structure_match(b, a)
    assert graph_structure_match(a, b) or not graph_match(a, b)


@pytest.mark.parametrize("facts", [8, 16, 24])
def test_structure_of_large_graphs_equals_networkx(facts):
    """A graph against its renamed copy, a copy with one edge moved, and a copy with one mistake of any kind."""
    rng = random.Random(facts)
    found = 0
    for number in range(60):
        gold = evidence_graph(rng, facts, facts + 4)
        other = with_mistakes(rng, gold, number % 3, facts + 4)
        one, two = shuffled(rng, gold), shuffled(rng, other)
        found += networkx_says(one, two)
        assert graph_structure_match(one, two) == networkx_says(one, two), (one, two)
    assert 20 <= found < 60


def rewired(rng: random.Random, layer: list[tuple[int, int]], swaps: int) -> list[tuple[int, int]]:
    """Another bipartite layer in which every node keeps its number of edges."""
    edges = list(layer)
    for _ in range(swaps):
        (i, a), (j, b) = rng.sample(edges, 2)
        if (i, b) not in edges and (j, a) not in edges:
            edges = [e for e in edges if e not in ((i, a), (j, b))] + [(i, b), (j, a)]
    return edges


def regular(rng: random.Random, width: int, degree: int) -> EvidenceGraph:
    """Every top fact has `degree` successors, every bottom fact as many predecessors: all nodes have equal degrees."""
    plain = [(n, width + (n + k) % width) for n in range(width) for k in range(degree)]
    return shuffled(rng, EvidenceGraph([(ROOT, n) for n in range(width)] + rewired(rng, plain, rng.randint(0, 12))))


@pytest.mark.parametrize(("width", "degree", "pairs"), [(4, 2, 12), (6, 2, 12), (6, 3, 4)])
def test_regular_layers_equal_networkx(width, degree, pairs):
    rng = random.Random(width * degree)
    for _ in range(pairs):
        one, two = regular(rng, width, degree), regular(rng, width, degree)
        assert graph_structure_match(one, two) == networkx_says(one, two), (one, two)


@pytest.mark.parametrize("width", [8, 12])
def test_regular_layers_of_rings_have_the_shape_of_their_lengths(width):
    """Too large for networkx. With two edges at every node, a layer is a set of rings, which differ in their
    lengths."""
    rng = random.Random(width)
    found = 0
    for _ in range(20):
        one, two = regular(rng, width, 2), regular(rng, width, 2)
        found += ring_lengths(one) == ring_lengths(two)
        assert graph_structure_match(one, two) == (ring_lengths(one) == ring_lengths(two)), (one, two)
    assert 0 < found < 20


@pytest.mark.parametrize("width", [8, 12])
def test_regular_layers_renamed(width):
    rng = random.Random(width)
    for _ in range(5):
        one = regular(rng, width, 3)
        assert graph_structure_match(one, shuffled(rng, one))


def ring_lengths(graph: EvidenceGraph) -> list[int]:
    layer = nx.Graph([edge for edge in graph.edges if ROOT not in edge])
    return sorted(map(len, nx.connected_components(layer)))


def test_equal_degrees_in_another_place():
    """The same degrees everywhere; only the degrees of adjacent facts differ."""
    chain = [(ROOT, 0), (ROOT, 1), (0, 2), (1, 3), (2, 4), (2, 5), (3, 6)]
    moved = [(ROOT, 0), (ROOT, 1), (0, 2), (0, 3), (1, 4), (2, 5), (4, 6)]
    assert sorted(map(degrees(chain), range(7))) == sorted(map(degrees(moved), range(7)))
    assert not graph_structure_match(EvidenceGraph(chain), EvidenceGraph(moved))


def degrees(edges: list[tuple[int, int]]):
    return lambda n: (sum(b == n for _, b in edges), sum(a == n for a, _ in edges))


def ring(first: int, width: int) -> list[tuple[int, int]]:
    """`width` facts below the root and as many below them, connected to a ring."""
    top, bottom = range(first, first + width), range(first + width, first + 2 * width)
    return [(ROOT, n) for n in top] + [
        edge for k in range(width) for edge in ((top[k], bottom[k]), (top[k], bottom[(k + 1) % width]))
    ]


@pytest.mark.parametrize(
    ("one", "two"),
    [
        (ring(0, 6), ring(0, 3) + ring(6, 3)),
        (ring(0, 12), ring(0, 6) + ring(12, 6)),
        (ring(0, 4) + ring(8, 4) + ring(16, 4), ring(0, 6) + ring(12, 3) + ring(18, 3)),
        # six loose facts, or three chains, beside the rings: symmetric parts that a naive search would permute first
        (ring(0, 6) + [(ROOT, n) for n in range(12, 18)], ring(0, 3) + ring(6, 3) + [(ROOT, n) for n in range(12, 18)]),
        (
            ring(0, 6) + [e for n in (12, 14, 16, 18) for e in ((ROOT, n), (n, n + 1))],
            ring(0, 3) + ring(6, 3) + [e for n in (12, 14, 16, 18) for e in ((ROOT, n), (n, n + 1))],
        ),
    ],
)
def test_symmetric_look_alikes_are_told_apart_at_once(one, two, must_end):
    rng = random.Random(2)
    first, second = shuffled(rng, EvidenceGraph(one)), shuffled(rng, EvidenceGraph(two))
    assert not graph_structure_match(first, second)
    assert graph_structure_match(first, shuffled(rng, EvidenceGraph(one)))
