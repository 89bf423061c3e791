"""Set scores against scikit-learn and the stated policy on empty sets."""

import random

import pytest
from sklearn.metrics import precision_recall_fscore_support

from bgr.graph import ROOT, EvidenceGraph
from bgr.metrics.evidence_set import EvidenceScores, evidence_set


def star(facts: list[int]) -> EvidenceGraph:
    return EvidenceGraph([(ROOT, n) for n in facts])


def test_known_value_with_precision_and_recall_the_right_way_round():
    scores = evidence_set(star([0, 1, 2, 3]), star([0, 1]))
    assert scores == EvidenceScores(precision=0.5, recall=1.0, f1=pytest.approx(2 / 3), em=0.0)


def test_edges_do_not_count():
    assert evidence_set(star([0, 1]), EvidenceGraph([(ROOT, 0), (0, 1)])) == EvidenceScores(1.0, 1.0, 1.0, 1.0)


def test_empty_sets():
    assert evidence_set(star([]), star([])) == EvidenceScores(1.0, 1.0, 1.0, 1.0)
    assert evidence_set(star([]), star([1])) == EvidenceScores(0.0, 0.0, 0.0, 0.0)
    assert evidence_set(star([1]), star([])) == EvidenceScores(0.0, 0.0, 0.0, 0.0)


def test_equals_scikit_learn():
    rng = random.Random(0)
    for _ in range(100):
        predicted, gold = (rng.sample(range(10), rng.randint(1, 10)) for _ in range(2))
        truth, guess = ([int(n in chosen) for n in range(10)] for chosen in (gold, predicted))
        p, r, f, _ = precision_recall_fscore_support(truth, guess, average="binary", zero_division=0)
        scores = evidence_set(star(predicted), star(gold))
        assert (scores.precision, scores.recall, scores.f1) == pytest.approx((p, r, f))
        assert scores.em == (truth == guess)
