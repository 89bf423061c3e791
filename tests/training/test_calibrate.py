import math
import random
from dataclasses import replace

import pytest

from bgr.data.example import Example
from bgr.graph.dag import graph_of
from bgr.graph.evidence_graph import ROOT, EvidenceGraph
from bgr.retrievers.graph_hop.fusion import Calibration
from bgr.retrievers.graph_hop.likelihood import DirectionResult
from training.retriever.calibrate import best_merge, calibrated, dev_metrics, edge_calibration, edge_calibration_error

GOLD = EvidenceGraph([(ROOT, 0), (0, 1)])
EXAMPLE = Example("e", "Who?", ("a", "b", "c"), GOLD, "x", (), "query")


def found(**odds):
    """A direction's result from the odds of the edges Q→0, 0→1 and 0→2."""
    edges = {{"a": (ROOT, 0), "b": (0, 1), "c": (0, 2)}[name]: value for name, value in odds.items()}
    return DirectionResult(graph_of(edges)[0], odds=edges)


def test_the_threshold_of_fused_is_lowered_where_gold_edges_lie_below_it():
    low = found(a=2.0, b=-0.5, c=-1.5)
    merge = best_merge([low], [low], [EXAMPLE], rule="fused")
    assert merge.threshold == -0.5  # the nearest to 0 of -1.5 < t <= -0.5
    assert merge.metrics == dev_metrics([GOLD], [EXAMPLE])
    assert merge.metrics["gm"] == 1


def test_gamma_of_fused_prefers_the_direction_that_is_right():
    right, wrong = found(a=2.0, b=1.0, c=-2.0), found(a=2.0, b=-3.0, c=3.0)
    assert best_merge([right], [wrong], [EXAMPLE], rule="fused").gamma < 0.5
    assert best_merge([wrong], [right], [EXAMPLE], rule="fused").gamma > 0.5


def test_other_rules_have_no_threshold_and_the_smallest_of_equal_gammas():
    graph = found(a=1.0, b=1.0)
    merge = best_merge([graph], [graph], [EXAMPLE], rule="equation")
    assert (merge.gamma, merge.threshold) == (0.0, 0.0)


def test_metrics_are_means():
    rng = random.Random(0)
    graphs = [GOLD if rng.random() < 0.5 else EvidenceGraph([(ROOT, 2)]) for _ in range(20)]
    row = dev_metrics(graphs, [EXAMPLE] * 20)
    assert row["gm"] == row["gs"] == row["f1"] == sum(g == GOLD for g in graphs) / 20
    assert row["score"] == (row["gm"] + row["f1"]) / 2


def noisy_direction(rng, *, slope, offset, count=400):
    """Questions of one fact each, whose edge is gold with probability ``sigmoid(slope · odds + offset)``."""
    results, examples = [], []
    for _ in range(count):
        odds = rng.gauss(0, 2)
        gold = rng.random() < 1 / (1 + math.exp(-(slope * odds + offset)))
        results.append(DirectionResult(graph_of({(ROOT, 0): odds})[0], odds={(ROOT, 0): odds}))
        examples.append(Example("e", "?", ("a", "b"), EvidenceGraph([(ROOT, 0 if gold else 1)]), "x", (), "query"))
    return results, examples


def test_calibration_finds_slope_and_offset_and_lowers_the_error():
    results, examples = noisy_direction(random.Random(0), slope=0.5, offset=-1.0, count=4000)
    found = edge_calibration(results, results, examples)
    assert (found.slope, found.offset) == pytest.approx((0.5, -1.0), abs=0.1)
    before = edge_calibration_error(results, examples, Calibration())
    after = edge_calibration_error(results, examples, found)
    assert before > 0.1
    assert after < 0.03


def test_unseen_edges_have_the_log_odds_of_those_that_only_the_other_direction_weighed():
    results, examples = noisy_direction(random.Random(1), slope=1.0, offset=0.0)
    others = [replace(r, odds={**r.odds, (ROOT, 1): 0.0}) for r in results]
    gold = sum((ROOT, 1) in e.graph.edges for e in examples)
    found = edge_calibration(results, others, examples)
    assert found.unseen == pytest.approx(math.log((gold + 0.5) / (len(examples) - gold + 0.5)))


def test_what_cannot_be_calibrated_keeps_its_own_odds():
    results, examples = noisy_direction(random.Random(2), slope=-2.0, offset=0.0)
    assert edge_calibration(results, results, examples) == Calibration(unseen=0.0)  # more odds mean less
    one = found(a=2.0, b=1.0)
    assert edge_calibration([one], [one], [EXAMPLE]) == Calibration(unseen=0.0)  # all gold


def test_all_settings_of_a_pair():
    right, wrong = found(a=2.0, b=1.0, c=-2.0), found(a=2.0, b=-3.0, c=3.0)
    settings = calibrated([right] * 4, [wrong] * 4, [EXAMPLE] * 4)
    assert settings.metrics["dev"]["fused"]["gm"] == 1
    assert settings.rule == "fused"
    assert settings.gamma("fused") < 0.5
    assert settings.fusion.forward == edge_calibration([right] * 4, [wrong] * 4, [EXAMPLE] * 4)
    assert {"calibration_error", "calibration_error_before", "gm"} <= set(settings.metrics["dev"]["forward"])
