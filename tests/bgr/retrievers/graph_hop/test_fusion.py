import itertools
import math
import random

import pytest

from bgr.graph.dag import tidy
from bgr.graph.evidence_graph import ROOT, EvidenceGraph
from bgr.retrievers.graph_hop import fusion
from bgr.retrievers.graph_hop.fusion import Calibration, Fusion
from bgr.retrievers.graph_hop.likelihood import DirectionResult, Step, log_likelihood


def fused(forward, backward, gamma, threshold=0.0, *, one=Calibration(), two=Calibration()):  # noqa: B008
    results = (DirectionResult(EvidenceGraph(), odds=odds) for odds in (forward, backward))
    return fusion.fused(*results, gamma, Fusion(one, two, threshold))[0]


def test_both_directions_are_weighed():
    forward = {(ROOT, 0): 3.0, (0, 1): -1.0, (0, 2): 0.5}
    backward = {(ROOT, 0): 2.0, (0, 1): 2.0, (0, 2): -2.0}
    assert fused(forward, backward, 0.0).edges == {(ROOT, 0), (0, 2)}
    assert fused(forward, backward, 0.5).edges == {(ROOT, 0), (0, 1)}
    assert fused(forward, backward, 1.0).edges == {(ROOT, 0), (0, 1)}


def test_calibration_decides_what_odds_mean():
    odds = {(ROOT, 0): 2.0, (0, 1): 0.5}
    assert fused(odds, odds, 0.0, one=Calibration(slope=2.0, offset=-1.5)).edges == {(ROOT, 0)}
    # only the forward direction came to weigh 0 -> 1
    less = {(ROOT, 0): 2.0}
    assert fused(odds, less, 0.5).edges == {(ROOT, 0)}
    assert fused(odds, less, 0.5, two=Calibration(unseen=-0.1)).edges == {(ROOT, 0), (0, 1)}


def test_scores_are_chances():
    scores = fused({(ROOT, 0): 2.0}, {(ROOT, 0): 1.0}, 0.5, one=Calibration(slope=0.5)).scores
    assert scores == {(ROOT, 0): pytest.approx(1 / (1 + math.exp(-1.0)))}


def test_what_reaches_the_threshold_is_taken():
    odds = {(ROOT, 0): 2.0, (0, 1): -0.5, (0, 2): -2.0}
    assert fused(odds, odds, 0.5).edges == {(ROOT, 0)}
    assert fused(odds, odds, 0.5, -1.0).edges == {(ROOT, 0), (0, 1)}
    assert fused(odds, odds, 0.5, 3.0).edges == {(ROOT, 0)}  # at least one first edge


def test_the_first_edge_is_never_lost_and_no_cycle_closed():
    assert fused({(ROOT, 0): -1.0, (ROOT, 1): -3.0}, {}, 0.5).edges == {(ROOT, 0)}
    loop = {(ROOT, 0): 1.0, (0, 1): 2.0, (1, 0): 0.5}
    assert fused(loop, loop, 0.5).edges == {(ROOT, 0), (0, 1)}
    assert fused({}, {}, 0.5).edges == frozenset()


def test_an_edge_beside_a_longer_path_is_left_out():
    odds = {(ROOT, 0): 3.0, (0, 1): 3.0, (1, 2): 3.0, (0, 2): 1.0, (ROOT, 2): 0.5, (ROOT, 3): 1.0, (3, 2): 1.0}
    assert fused(odds, odds, 0.5).edges == {(ROOT, 0), (0, 1), (1, 2), (ROOT, 3), (3, 2)}


def direction(rng, facts, *, forward):
    """A random path model: a step for every path, and each edge's odds."""
    steps = {}
    for length in range(facts + 1):
        for path in itertools.permutations(range(facts), length):
            open_ = [n for n in range(facts) if n not in path] + ([] if forward or not path else [ROOT])
            odds = {n: rng.gauss(-0.5, 2.0) for n in open_}
            steps[path] = Step(sum(-math.log1p(math.exp(v)) for v in odds.values()), odds)
    edges = {(a, b): rng.gauss(0.0, 2.0) for a in range(ROOT, facts) for b in range(facts) if a != b}
    return DirectionResult(EvidenceGraph([(ROOT, rng.randrange(facts))]), odds=edges, steps=steps)


def total(edges, forward, backward, gamma, threshold):
    one = log_likelihood(edges, forward.steps, forward=True)
    two = log_likelihood(edges, backward.steps, forward=False)
    return (1 - gamma) * one + gamma * two - threshold * len({b for _, b in edges})


def test_the_paths_likelihood_decides_and_the_search_nearly_always_finds_the_best(monkeypatch):
    monkeypatch.setattr(fusion, "DOUBT", -math.inf)
    rng, found_best, runs = random.Random(0), 0, 40
    every = [(a, b) for a in range(ROOT, 3) for b in range(3) if a != b]
    sets = {tidy(edges) for size in range(1, 7) for edges in itertools.combinations(every, size)} - {None, frozenset()}
    for _ in range(runs):
        forward, backward = direction(rng, 3, forward=True), direction(rng, 3, forward=False)
        graph, whole = fusion.fused(forward, backward, 0.4, Fusion(threshold=-0.3))
        best = max(total(edges, forward, backward, 0.4, -0.3) for edges in sets)
        got = total(graph.edges, forward, backward, 0.4, -0.3)
        assert whole
        assert got <= best + 1e-9
        for start in (forward.graph.edges, backward.graph.edges):
            assert got >= total(start, forward, backward, 0.4, -0.3)
        found_best += got > best - 1e-9
    assert found_best >= 0.9 * runs


def test_a_search_cut_short_says_so(monkeypatch):
    rng = random.Random(1)
    forward, backward = direction(rng, 3, forward=True), direction(rng, 3, forward=False)
    assert fusion.fused(forward, backward, 0.5, Fusion())[1]
    for name in ("MAX_GRAPHS", "MAX_EDGES"):
        with monkeypatch.context() as patch:
            patch.setattr(fusion, name, 0)
            assert not fusion.fused(forward, backward, 0.5, Fusion())[1]
