"""Scores of evidence sets and R@k against values computed by hand and a slow implementation."""

import math
import random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import precision_recall_fscore_support

from bgr.graph.evidence_graph import ROOT, EvidenceGraph
from bgr.metrics.evidence_set import EvidenceScores, evidence_set, recalls_at, set_scores


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


NAMES = st.sets(st.sampled_from("abcdef"))


@given(NAMES, NAMES, st.integers(0, 2))
def test_what_cannot_be_found_is_gold_of_other_names(found, gold, missing):
    lost = {f"lost {number}" for number in range(missing)}
    assert set_scores(found, gold, missing=missing) == set_scores(found, gold | lost)
    right = sum(one in gold for one in found)
    if gold or missing:
        assert set_scores(found, gold, missing=missing).recall == right / (len(gold) + missing)


def test_recall_at_k():
    ranked, gold = ["d", "a", "x", "b", "y"], ["a", "b", "c"]
    assert recalls_at(ranked, gold, (0, 1, 2, 4, 5, 9)) == pytest.approx([0, 0, 1 / 3, 2 / 3, 2 / 3, 2 / 3])
    assert recalls_at(ranked, ["a"], [2], missing=1) == 0.5
    assert recalls_at([], gold, [5]) == 0.0
    assert recalls_at(ranked, [], [5], missing=2) == 0.0
    assert math.isnan(recalls_at(ranked, [], [5])[0])


def slow(ranked, gold, k, missing):
    total = len(set(gold)) + missing
    return sum(1 for one in ranked[:k] if one in gold) / total if total else math.nan


@given(
    st.lists(st.integers(0, 20), unique=True),
    st.lists(st.integers(0, 20), unique=True),
    st.lists(st.integers(0, 25), min_size=1),
    st.integers(0, 3),
)
def test_recall_at_k_equals_a_slow_loop(ranked, gold, ks, missing):
    found = recalls_at(ranked, gold, ks, missing=missing)
    assert np.array_equal(found, [slow(ranked, gold, k, missing) for k in ks], equal_nan=True)
