"""When the evidence is refused."""

import math

import numpy as np
import pytest

from bgr.data.example import Example
from bgr.graph.evidence_graph import ROOT, EvidenceGraph
from bgr.pipeline import DirectedGraphs
from bgr.retrievers.graph_hop.completeness import Refusal, evidence_features, refusal_threshold
from bgr.retrievers.graph_hop.likelihood import DirectionResult
from training.retriever.calibrate import best_refusal

GRAPH = EvidenceGraph([(ROOT, 0), (0, 1)], {(ROOT, 0): 0.9, (0, 1): 0.6})


def result(completeness):
    return DirectionResult(GRAPH, completeness=completeness)


def test_the_features_are_both_logits_and_the_least_and_mean_odds():
    features = evidence_features(result(1.5), result(-99.0), GRAPH)
    one, two = math.log(9), math.log(1.5)
    assert features == pytest.approx((1.5, -20.0, two, (one + two) / 2))
    assert evidence_features(result(None), result(1.0), GRAPH) is None


def test_a_graph_without_edges_has_the_worst_odds():
    assert evidence_features(result(0.0), result(0.0), EvidenceGraph()) == (0.0, 0.0, -20.0, -20.0)


def test_below_the_threshold_the_graph_is_empty():
    refusal = Refusal((1.0, 0.0, 0.0, 0.0), 0.5, 0.7)
    for logit, nodes in ((0.2, ()), (0.4, (0, 1))):
        found = DirectedGraphs(result(logit), result(0.0)).merged("forward", 0.5, refusal=refusal)
        assert found.graph.nodes == nodes
        assert found.completeness == pytest.approx(1 / (1 + math.exp(-logit - 0.5)))
    unknown = DirectedGraphs(result(None), result(0.0)).merged("forward", 0.5, refusal=refusal)
    assert (unknown.graph, unknown.completeness) == (GRAPH, None)


def test_the_threshold_is_that_of_the_best_score():
    chances = np.repeat([0.9, 0.7, 0.3, 0.1], 100)
    answerable = np.repeat([True, False, True, False], 100)
    # the graphs at 0.3 are wrong: refusing them costs nothing, and those at 0.7 are refused too
    scores = np.repeat([1.0, 0.0, 0.0, 0.0], 100)
    assert refusal_threshold(chances, scores, answerable) == pytest.approx(0.72)
    # they are right, and as many as those at 0.7
    scores = np.repeat([1.0, 0.0, 1.0, 0.0], 100)
    assert refusal_threshold(chances, scores, answerable) == pytest.approx(0.3)
    # the score of a graph without an answer does not count
    assert refusal_threshold(chances, np.ones(400), answerable) == pytest.approx(0.3)


def test_of_thresholds_as_good_by_the_data_the_one_nearest_to_a_half_is_taken():
    answerable = np.array([True] * 50 + [False] * 50)
    chances = np.where(answerable, 0.95, 0.05)
    assert refusal_threshold(chances, np.ones(100), answerable) == 0.5
    # two questions won and one lost are no reason for another
    chances[[0, 98, 99]] = 0.6, 0.8, 0.8
    assert refusal_threshold(chances, np.ones(100), answerable) == 0.5
    chances[[0, *range(60, 100)]] = 0.95, *[0.8] * 40
    assert refusal_threshold(chances, np.ones(100), answerable) == pytest.approx(0.82)


def example(number, graph):
    return Example(f"q{number}", "?", ("a .", "b ."), graph, "", (), "query")


def test_dev_chooses_a_threshold_that_separates():
    known = [(2.0 + number / 10, GRAPH) for number in range(20)]
    lacking = [(-2.0 - number / 10, EvidenceGraph()) for number in range(5)]
    examples = [example(number, gold) for number, (_, gold) in enumerate(known + lacking)]
    results = [result(logit) for logit, _ in known + lacking]
    refusal, metrics = best_refusal(results, results, [GRAPH] * 25, examples)
    assert metrics == {"auc": 1.0, "refused_answerable": 0.0, "refused_unanswerable": 1.0}
    assert 0 < refusal.threshold < 1
    # without a question that lacks evidence nothing can be chosen
    assert best_refusal(results[:20], results[:20], [GRAPH] * 20, examples[:20]) == (Refusal(), {})
