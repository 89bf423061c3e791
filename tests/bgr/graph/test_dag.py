"""Algorithms on sets of edges against slow implementations and examples."""

import itertools
import random

import networkx as nx
import pytest

from bgr.graph.dag import best_dag, changes, find_cycle, tidy
from bgr.graph.evidence_graph import ROOT, EvidenceGraph


def slow_best(weights):
    """The greatest total weight over all nonempty sets of edges that `EvidenceGraph` accepts."""
    best = None
    for size in range(1, len(weights) + 1):
        for edges in itertools.combinations(weights, size):
            total = sum(weights[edge] for edge in edges)
            if (best is None or total > best) and allowed(edges):
                best = total
    return best


def allowed(edges):
    graph = nx.DiGraph([(ROOT, ROOT + 1)])
    graph.clear_edges()
    graph.add_edges_from(edges)
    hung = nx.descendants(graph, ROOT) | {ROOT} if ROOT in graph else set()
    used = {n for edge in edges for n in edge}
    return nx.is_directed_acyclic_graph(graph) and used <= hung


def random_weights(rng, facts, edges):
    every = [(a, b) for a in range(ROOT, facts) for b in range(facts) if a != b]
    mean = rng.choice([-1.0, 0.0, 1.0])
    return {edge: rng.gauss(mean, 2.0) for edge in rng.sample(every, min(edges, len(every)))}


@pytest.mark.parametrize("facts", [1, 2, 3, 4])
def test_equal_to_every_set_of_edges(facts):
    rng = random.Random(facts)
    for _ in range(60):
        weights = random_weights(rng, facts, rng.randint(1, 9))
        found, best = best_dag(weights), slow_best(weights)
        assert found is not None
        if best is None:
            assert not found
        else:
            EvidenceGraph(found)  # checks the constraints
            assert sum(weights[edge] for edge in found) == pytest.approx(best)


def test_a_weak_edge_that_carries_strong_ones_is_taken():
    assert best_dag({(ROOT, 0): 1.0, (0, 1): -0.5, (1, 2): 2.0}) == {(ROOT, 0), (0, 1), (1, 2)}
    assert best_dag({(ROOT, 0): 1.0, (0, 1): -2.5, (1, 2): 2.0}) == {(ROOT, 0)}


def test_the_least_bad_first_edge_is_taken_where_none_is_good():
    assert best_dag({(ROOT, 0): -3.0, (ROOT, 1): -1.0}) == {(ROOT, 1)}
    assert best_dag({(ROOT, 0): -1.5, (ROOT, 1): -1.0, (0, 1): 1.0}) == {(ROOT, 0), (0, 1)}


def test_without_an_edge_from_the_question_there_is_no_graph():
    assert best_dag({}) == best_dag({(0, 1): 2.0}) == frozenset()


def test_of_a_cycle_the_cheapest_edge_is_left_out_for_the_whole_not_one_by_one():
    # greedy search takes 0 -> 1 first and then loses both edges back
    weights = {(ROOT, 0): 1.0, (ROOT, 1): 1.0, (0, 1): 2.0, (1, 2): 1.9, (2, 0): 1.8, (1, 0): 1.7}
    assert best_dag(weights) == {(ROOT, 0), (ROOT, 1), (1, 2), (2, 0), (1, 0)}


def test_a_search_that_is_cut_short_says_so():
    weights = {(a, b): 1.0 + a * b % 7 for a in range(ROOT, 12) for b in range(12) if a != b}
    assert best_dag(weights, max_problems=50) is None


def test_the_order_of_the_edges_does_not_matter():
    rng = random.Random(7)
    for _ in range(30):
        weights = random_weights(rng, 6, 18)
        mixed = dict(rng.sample(sorted(weights.items()), len(weights)))
        assert best_dag(weights) == best_dag(mixed)


def test_find_cycle():
    assert find_cycle([(ROOT, 0), (0, 1), (ROOT, 1)]) is None
    assert find_cycle([]) is None
    cycle = find_cycle([(ROOT, 0), (0, 1), (1, 2), (2, 0), (2, 3)])
    assert sorted(cycle) == [(0, 1), (1, 2), (2, 0)]


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
