"""Reciprocal rank fusion against the formula in fractions; percentile ranks against a slow count."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bgr.collection.search import pit, rrf

RANKINGS = st.lists(st.lists(st.integers(0, 30), unique=True, max_size=12), max_size=5)


def slow(rankings, k, weights):
    """The formula, place by place, without rounding."""
    scores = {}
    for place in range(31):
        parts = [
            Fraction(weight) / (k + ranking.index(place) + 1)
            for ranking, weight in zip(rankings, weights, strict=True)
            if place in ranking
        ]
        if parts:
            scores[place] = sum(parts)
    return sorted(scores.items(), key=lambda item: (-item[1], item[0]))


@given(RANKINGS, st.sampled_from([0, 1, 60]), st.data())
def test_equal_to_the_formula(rankings, k, data):
    weights = data.draw(st.lists(st.sampled_from([0.5, 1, 2, 4]), min_size=len(rankings), max_size=len(rankings)))
    hits, expected = rrf(rankings, k=k, weights=weights), slow(rankings, k, weights)
    exact = {place: round(float(score), 12) for place, score in expected}  # a quotient is rounded before it is added
    assert sorted(hits.indices.tolist()) == sorted(exact)
    assert [exact[place] for place in hits.indices.tolist()] == sorted(exact.values(), reverse=True)
    np.testing.assert_allclose(hits.scores, [float(score) for _, score in expected], rtol=1e-6)
    assert hits.indices.dtype == np.int64
    assert hits.scores.dtype == np.float32


@given(RANKINGS, st.randoms())
def test_the_order_of_the_rankings_decides_nothing(rankings, random):
    shuffled = random.sample(rankings, len(rankings))
    assert rrf(rankings).indices.tolist() == rrf(shuffled).indices.tolist()


def test_by_hand():
    hits = rrf([[7, 3], np.array([3, 9])])
    assert hits.indices.tolist() == [3, 7, 9]
    assert hits.scores == pytest.approx([1 / 61 + 1 / 62, 1 / 61, 1 / 62])
    assert rrf([[5], [2], [9]]).indices.tolist() == [2, 5, 9]  # equal scores, by place
    assert rrf([]).indices.tolist() == []


def test_what_makes_no_sense_is_refused():
    with pytest.raises(ValueError, match="1 weights for 2 rankings"):
        rrf([[1], [2]], weights=[1.0])
    with pytest.raises(ValueError, match=r"ranking 1 .* an index twice"):
        rrf([[1], [2, 3, 2]])
    with pytest.raises(ValueError, match="k is -1"):
        rrf([[1]], k=-1)


def slow_pit(scores):
    return [sum(other <= score for other in scores) / len(scores) for score in scores]


def test_pit_by_hand_and_by_its_slow_twin():
    assert pit([3, 1, 3, 2]).tolist() == [1, 0.25, 1, 0.5]
    assert pit([7]).tolist() == [1]
    assert pit([]).tolist() == []
    assert pit([-np.inf, 0.5, -np.inf]).tolist() == [2 / 3, 1, 2 / 3]
    rng = np.random.default_rng(0)
    for size in (1, 2, 5, 20, 200):
        for scores in (rng.normal(size=size), rng.integers(0, 4, size), rng.normal(size=size).astype(np.float32)):
            assert pit(scores).tolist() == slow_pit(scores.tolist())
            assert pit(scores).dtype == np.float64
    for wrong in ([np.nan, 1.0], [[1.0, 2.0]]):
        with pytest.raises(ValueError, match="one row of numbers"):
            pit(wrong)
