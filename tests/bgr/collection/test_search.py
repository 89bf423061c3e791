"""Hits, fusion and searches in memory, compared with full sorting and exact fractions."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from bgr.collection.bm25 import Bm25Search
from bgr.collection.search import HybridSearch, best, pit, rrf
from bgr.collection.vectors import DenseSearch

TEXTS = ["Persona runs for 83 minutes", "Sweden borders Norway", "Norway exports fish", "", "Sweden, Sweden"]
QUERIES = ["who borders Sweden", "fish of Norway", "nothing at all of these", ""]


def test_bm25_is_the_index_sorted():
    search = Bm25Search(TEXTS)
    assert len(search) == 5
    for k in (0, 1, 3, 9):
        for query, hits in zip(QUERIES, search.search(QUERIES, k), strict=True):
            scores = search.scores(query)
            order = np.argsort(-scores, kind="stable")[:k]
            assert hits.indices.tolist() == order.tolist()
            assert np.array_equal(hits.scores, scores[order])
    assert search.search([], 3) == []


def test_dense_is_all_products_sorted(encoder):
    search = DenseSearch.of_texts([*TEXTS, TEXTS[1]], encoder)
    products = encoder(QUERIES) @ encoder([*TEXTS, TEXTS[1]]).T
    order = np.argsort(-products, axis=1, kind="stable")
    for k in (1, 4, 9):
        found = search.search(QUERIES, k)
        assert [hits.indices.tolist() for hits in found] == order[:, :k].tolist()
        for hits, row, places in zip(found, products, order, strict=True):
            np.testing.assert_allclose(hits.scores, row[places[:k]], atol=1e-6)
    assert search.search([], 3) == []
    assert [hits.indices.tolist() for hits in DenseSearch.of_texts([], encoder).search(["q"], 3)] == [[]]


@pytest.mark.parametrize(
    ("vectors", "message"),
    [
        (np.ones((1, 3), np.float32), "shape"),
        (np.ones(2, np.float32), "shape"),
        (np.array([[1, 0], [3, 4]], np.float32), "vector 1 has length 5"),
        (np.array([[1, 0], [np.nan, 0]], np.float32), "vector 1 has length nan"),
    ],
)
def test_an_encoder_of_other_vectors_is_refused(vectors, message):
    with pytest.raises(ValueError, match=message):
        DenseSearch.of_texts(["a", "b"], lambda texts: vectors)


def test_hybrid_is_the_fusion_of_its_searches(encoder):
    words, dense = Bm25Search(TEXTS), DenseSearch.of_texts(TEXTS, encoder)
    for query, hits in zip(QUERIES, HybridSearch([words, dense]).search(QUERIES, 3), strict=True):
        matched = [place for place, score in words.top(query, 5) if score > 0]
        expected = rrf([matched, dense.search([query], 5)[0].indices])
        assert hits.indices.tolist() == expected.indices[:3].tolist()
        assert hits.scores.tolist() == expected.scores[:3].tolist()


def test_texts_without_a_word_of_the_query_take_no_part(encoder):
    assert HybridSearch([Bm25Search(TEXTS)]).search(["Persona"], 5)[0].indices.tolist() == [0]
    dense = DenseSearch.of_texts(TEXTS, encoder)
    both = HybridSearch([Bm25Search(TEXTS), dense]).search(["zebra"], 5)[0]
    assert both.indices.tolist() == dense.search(["zebra"], 5)[0].indices.tolist()


def test_up_to_the_depth_fewer_begin_more(encoder):
    texts = [f"fact {n} of {n % 7} and {n % 5}" for n in range(60)]
    hybrid = HybridSearch([Bm25Search(texts), DenseSearch.of_texts(texts, encoder)], depth=20)
    whole = hybrid.search(["fact 3 of 4"], 20)[0].indices.tolist()
    assert [hybrid.search(["fact 3 of 4"], k)[0].indices.tolist() for k in (1, 7)] == [whole[:1], whole[:7]]
    assert len(hybrid.search(["fact 3 of 4"], 50)[0].indices) == 50


def test_searches_over_different_lists_are_refused():
    with pytest.raises(ValueError, match=r"these have \[1, 5\] texts"):
        HybridSearch([Bm25Search(TEXTS), Bm25Search(["one"])])
    with pytest.raises(ValueError, match="needs searches"):
        HybridSearch([])


@given(st.lists(st.sampled_from([-1.5, 0.0, 0.25, 1.0, 3.0]), max_size=40), st.integers(-2, 50))
@example([0.0, 1.0, 0.0, 3.0, -1.5, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0], 2)  # few are above 0
def test_equal_to_sorting_all(values, k):
    scores = np.array(values, dtype=np.float32)
    order = np.argsort(-scores, kind="stable")[: max(k, 0)]
    hits = best(scores, k)
    assert hits.indices.tolist() == order.tolist()
    assert np.array_equal(hits.scores, scores[order])
    assert hits.indices.dtype == np.int64


RANKINGS = st.lists(st.lists(st.integers(0, 30), unique=True, max_size=12), max_size=5)


def slow(rankings, k):
    """The formula, place by place, without rounding."""
    scores = {}
    for place in range(31):
        parts = [Fraction(1, k + ranking.index(place) + 1) for ranking in rankings if place in ranking]
        if parts:
            scores[place] = sum(parts)
    return sorted(scores.items(), key=lambda item: (-item[1], item[0]))


@given(RANKINGS, st.sampled_from([0, 1, 60]))
def test_equal_to_the_formula(rankings, k):
    hits, expected = rrf(rankings, k=k), slow(rankings, k)
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
