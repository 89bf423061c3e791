import random

import networkx as nx

from bgr.graph.dag import changes, tidy
from bgr.graph.evidence_graph import ROOT, EvidenceGraph


def slow_tidy(edges):
    graph = nx.DiGraph()
    graph.add_node(ROOT)
    graph.add_edges_from(edges)
    if not nx.is_directed_acyclic_graph(graph):
        return None
    kept = graph.subgraph(nx.descendants(graph, ROOT) | {ROOT})
    return frozenset(nx.transitive_reduction(kept).edges)


def random_edges(rng, facts):
    every = [(a, b) for a in range(ROOT, facts) for b in range(facts) if a != b]
    return frozenset(rng.sample(every, rng.randint(0, min(9, len(every)))))


def test_tidy_is_reachable_part_and_transitive_reduction():
    rng, cyclic = random.Random(0), 0
    for _ in range(600):
        edges = random_edges(rng, rng.randint(1, 6))
        assert tidy(edges) == slow_tidy(edges)
        cyclic += tidy(edges) is None
    assert 50 < cyclic < 550


def test_changes_are_graphs_one_change_away():
    edges = frozenset({(ROOT, 0), (0, 1), (1, 2)})
    found = set(changes(edges, [(ROOT, 3), (0, 2), (2, 0), (4, 5), (1, 3)]))
    assert {(ROOT, 0), (0, 1)} in found  # an edge taken away
    assert {(ROOT, 0), (0, 2)} in found  # a fact taken out
    assert {(ROOT, 1), (1, 2)} in found
    assert edges | {(ROOT, 3)} in found  # an edge added
    assert {(ROOT, 0), (0, 1), (0, 2)} in found  # another source for 2
    assert {(ROOT, 0), (0, 1), (1, 3)} in found  # another target for 1
    assert not any((2, 0) in other or (4, 5) in other for other in found)  # a cycle; starts outside the graph
    assert edges not in found
    for other in found:
        EvidenceGraph(other)  # checks the constraints


def test_an_added_edge_takes_the_place_of_the_shortcut_it_makes():
    found = set(changes(frozenset({(ROOT, 0), (ROOT, 1)}), [(0, 1)]))
    assert {(ROOT, 0), (0, 1)} in found


def test_changes_come_in_one_order():
    rng = random.Random(3)
    for _ in range(20):
        edges = tidy(random_edges(rng, 5)) or frozenset({(ROOT, 0)})
        shuffled = frozenset(rng.sample(sorted(edges), len(edges)))
        addable = sorted(random_edges(rng, 5))
        assert list(changes(edges, addable)) == list(changes(shuffled, addable))
