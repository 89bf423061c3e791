import random

from bgr.example import Example
from bgr.graph import ROOT, EvidenceGraph
from bgr.models.decode import graph_of
from bgr.retrieval import DirectionResult
from training.calibrate import best_merge, dev_metrics

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
