import random

import pytest

from bgr.errors import BgrError
from bgr.graph.evidence_graph import ROOT, EvidenceGraph
from bgr.retrievers.graph_hop.likelihood import DirectionResult
from bgr.retrievers.graph_hop.reconstruction import GRAPH_RULES, subgraph_confidence
from bgr.retrievers.graph_hop.reconstruction import reconstruct as reconstruct_results

A = EvidenceGraph([(ROOT, 0), (0, 1)])
B = EvidenceGraph([(ROOT, 0), (0, 2)])
APART = EvidenceGraph([(ROOT, 5)])


def reconstruct(forward, backward, rule, gamma):
    return reconstruct_results(DirectionResult(forward), DirectionResult(backward), rule, gamma).graph


def test_confidence_is_equation_1():
    assert subgraph_confidence(A, B) == pytest.approx(1 / 3)
    assert subgraph_confidence(A, A) == 1
    assert subgraph_confidence(A, APART) == 0
    assert subgraph_confidence(EvidenceGraph(), EvidenceGraph()) == 1


@pytest.mark.parametrize(
    ("gamma", "edges"), [(0.0, A.edges | B.edges), (0.3, A.edges | B.edges), (1 / 3, B.edges), (1.0, B.edges)]
)
def test_equation_2(gamma, edges):
    assert reconstruct(A, B, "equation", gamma).edges == edges


def test_gamma_0_joins_only_where_an_edge_is_shared():
    assert reconstruct(A, APART, "equation", 0.0) == APART


def test_intersection_below_gamma():
    assert reconstruct(A, B, "intersection", 0.5).edges == {(ROOT, 0)}
    lost = EvidenceGraph([(ROOT, 3), (3, 0), (0, 1)])
    assert reconstruct(A, lost, "intersection", 0.9).edges == frozenset()  # (0, 1) is shared but hangs from nothing


def test_released_is_the_reverse_and_adds_no_second_edge_to_a_fact():
    assert reconstruct(A, B, "released", 0.1) == B
    other = EvidenceGraph([(ROOT, 1), (1, 2)])
    assert reconstruct(A, other, "released", 0.5).edges == {(ROOT, 0), (0, 1), (1, 2)}


def test_single_directions():
    assert reconstruct(A, B, "forward", 0.5) == A
    assert reconstruct(A, B, "backward", 0.5) == B


def test_a_cycle_loses_its_least_probable_edge():
    one = EvidenceGraph([(ROOT, 0), (0, 1)], {(ROOT, 0): 0.9, (0, 1): 0.8})
    two = EvidenceGraph([(ROOT, 0), (ROOT, 1), (1, 0)], {(ROOT, 0): 0.9, (ROOT, 1): 0.9, (1, 0): 0.3})
    assert reconstruct(one, two, "equation", 0.0).edges == {(ROOT, 0), (ROOT, 1), (0, 1)}


def test_every_rule_always_gives_a_valid_graph():
    rng = random.Random(0)

    def graph():
        order = rng.sample(range(6), rng.randint(1, 6))
        edges = [(rng.choice([ROOT, *order[:i]]), n) for i, n in enumerate(order)]
        edges += [(rng.choice([ROOT, *order[:i]]), n) for i, n in enumerate(order)]
        return EvidenceGraph(edges)

    for _ in range(300):
        forward, backward = graph(), graph()
        for rule in GRAPH_RULES:
            reconstruct(forward, backward, rule, rng.random())  # EvidenceGraph checks its constraints


@pytest.mark.parametrize(("rule", "gamma", "said"), [("best", 0.5, "equation"), ("equation", 1.5, "0 to 1")])
def test_bad_settings(rule, gamma, said):
    with pytest.raises(BgrError, match=said):
        reconstruct(A, B, rule, gamma)


def test_fused_result_by_name():
    result = DirectionResult(A, odds={(ROOT, 0): 1.0})
    assert reconstruct_results(result, result, "fused", 0.5).graph.edges == {(ROOT, 0)}


def test_limits_of_both_directions_and_of_the_fusion():
    one, two = DirectionResult(A, ("max_paths",), odds={(ROOT, 0): 1.0}), DirectionResult(B, ("cycle", "max_paths"))
    assert reconstruct_results(one, two, "equation", 0.5).limits == ("cycle", "max_paths")
    assert reconstruct_results(one, two, "fused", 0.5).limits == ("cycle", "max_paths")
    assert reconstruct_results(one, two, "forward", 0.5).limits == ("max_paths",)
    assert reconstruct_results(one, two, "backward", 0.5).limits == ("cycle", "max_paths")
    every = {(a, b): 1.0 + a * b % 7 for a in range(ROOT, 12) for b in range(12) if a != b}
    cut = reconstruct_results(DirectionResult(A, odds=every), DirectionResult(A, odds=every), "fused", 0.5)
    assert cut.limits == ("fusion",)
    assert len(cut.graph.nodes) == 12  # the greedy one


def test_an_edge_left_out_of_the_union_is_a_limit():
    one = DirectionResult(EvidenceGraph([(ROOT, 0), (0, 1), (ROOT, 2)]))
    other = DirectionResult(EvidenceGraph([(ROOT, 0), (ROOT, 1), (1, 0), (ROOT, 2)]))
    for rule in ("equation", "intersection"):
        assert reconstruct_results(one, other, rule, 0.0).limits == ("cycle",)
        assert reconstruct_results(one, one, rule, 0.0).limits == ()
    assert reconstruct_results(one, other, "equation", 0.9).limits == ()  # the backward graph alone
