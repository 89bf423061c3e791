"""Searches in memory: BM25, dense and both fused."""

from __future__ import annotations

import numpy as np
import pytest

from bgr.collection.bm25 import Bm25Index, Bm25Search
from bgr.collection.search import HybridSearch, rrf
from bgr.collection.vectors import DenseSearch

TEXTS = ["Persona runs for 83 minutes", "Sweden borders Norway", "Norway exports fish", "", "Sweden, Sweden"]
QUERIES = ["who borders Sweden", "fish of Norway", "nothing at all of these", ""]


def test_bm25_is_the_index_sorted():
    search, index = Bm25Search(TEXTS), Bm25Index(TEXTS)
    assert len(search) == 5
    for k in (0, 1, 3, 9):
        for query, hits in zip(QUERIES, search.search(QUERIES, k), strict=True):
            scores = index.scores(query)
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
        matched = [place for place, score in words.index.top(query, 5) if score > 0]
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
