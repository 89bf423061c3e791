"""Nearest rows equal all products sorted, in half precision, in parts and with deleted rows."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bgr.collection import vectors as vector_rows
from bgr.collection.bm25 import LiveRows
from bgr.collection.vectors import VectorRows, nearest, widened


def unit(rng, count, width):
    rows = rng.normal(size=(count, width))
    return (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)


def slow(query, vectors, k):
    """Every product by itself in float64, rounded, all sorted."""
    scores = np.array([(row.astype(np.float64) * query.astype(np.float64)).sum() for row in vectors], dtype=np.float32)
    order = np.argsort(-scores, kind="stable")[:k]
    return order, scores[order]


@given(st.data())
def test_equal_to_sorting_all_products(data):
    rng = np.random.default_rng(data.draw(st.integers(0, 2**32)))
    count, width = data.draw(st.integers(1, 120)), data.draw(st.sampled_from([1, 3, 16]))
    dtype = data.draw(st.sampled_from([np.float32, np.float16]))
    vectors = unit(rng, count, width).astype(dtype)
    vectors[rng.integers(0, count, size=count // 3)] = vectors[0]  # equal vectors, which go by place
    deleted = np.sort(rng.permutation(count)[: data.draw(st.integers(0, count - 1))])
    parts = np.split(vectors, sorted(rng.integers(0, count, size=data.draw(st.integers(0, 3)))))
    rows = VectorRows(parts, LiveRows(count, deleted))
    left = np.delete(vectors.astype(np.float32), deleted, axis=0)
    queries = np.concatenate([unit(rng, data.draw(st.sampled_from([1, 30])), width), left[:1]])
    k = data.draw(st.sampled_from([1, 5, 200]))
    assert len(rows) == len(left)
    for query, hits in zip(queries, rows.nearest(queries, k), strict=True):
        places, scores = slow(query, left, k)
        assert hits.indices.tolist() == places.tolist()
        assert np.array_equal(hits.scores, scores)
    some = rng.integers(0, len(left), size=7)
    assert np.array_equal(rows.take(some), left[some])


def test_one_query_and_many_give_the_same(monkeypatch):
    rng = np.random.default_rng(5)
    vectors, queries = unit(rng, 3000, 32), unit(rng, 50, 32)
    rows = VectorRows([vectors])
    together = rows.nearest(queries, 10)
    monkeypatch.setattr(vector_rows, "QUERIES", 7)
    monkeypatch.setattr(vector_rows, "HALF_BLOCK", 100)
    for hits, blocks, query in zip(together, rows.nearest(queries, 10), queries, strict=True):
        (alone,) = rows.nearest(query[None], 10)
        for other in (alone, blocks):
            assert np.array_equal(hits.indices, other.indices)
            assert np.array_equal(hits.scores, other.scores)
    halves = VectorRows([vectors.astype(np.float16)]).nearest(queries, 10)
    expected = slow(queries[3], vectors.astype(np.float16).astype(np.float32), 10)
    assert halves[3].indices.tolist() == expected[0].tolist()


def test_many_equal_vectors_go_by_place():
    rng = np.random.default_rng(1)
    vectors = unit(rng, 500, 8)
    vectors[100:400] = vectors[100]
    (hits,) = VectorRows([vectors]).nearest(vectors[100:101], 5)
    assert hits.indices.tolist() == [100, 101, 102, 103, 104]


@pytest.mark.parametrize("dtype", [np.float16, np.float32])
@pytest.mark.parametrize("block", [7, 64, 1000])  # of one block, one whole block, and all
@pytest.mark.parametrize("k", [1, 5, 200, 299])
def test_ties_that_reach_far_beyond_the_candidates(monkeypatch, dtype, block, k):
    monkeypatch.setattr(vector_rows, "HALF_BLOCK", block)
    rng = np.random.default_rng(k)
    vectors = unit(rng, 60, 24)[rng.integers(0, 60, 300)].astype(dtype)  # most stand many times
    queries = unit(rng, 9, 24)
    for query, hits in zip(queries, VectorRows([vectors]).nearest(queries, k), strict=True):
        places, scores = slow(query, vectors, k)
        assert hits.indices.tolist() == places.tolist()
        assert np.array_equal(hits.scores, scores)
        assert (hits.indices.dtype, hits.scores.dtype) == (np.int64, np.float32)


@pytest.mark.parametrize("dtype", [np.float16, np.float32])
def test_all_vectors_equal(dtype):
    rng = np.random.default_rng(6)
    vectors = np.repeat(unit(rng, 1, 8), 5000, axis=0).astype(dtype)
    for queries in (vectors[:1], unit(rng, 2, 8)):
        for hits in VectorRows([vectors]).nearest(queries.astype(np.float32), 100):
            assert hits.indices.tolist() == list(range(100))
            assert len(set(hits.scores.tolist())) == 1


@pytest.mark.parametrize("dtype", [np.float16, np.float32])
def test_vectors_that_are_no_numbers_are_not_found(dtype, monkeypatch):
    monkeypatch.setattr(vector_rows, "HALF_BLOCK", 30)
    query = np.eye(4, dtype=np.float32)[:1]
    vectors = np.eye(4, dtype=dtype)
    vectors[1] = np.nan
    assert VectorRows([vectors]).nearest(query, 4)[0].indices.tolist() == [0, 2, 3]
    many = VectorRows([np.tile(vectors, (50, 1))])
    assert many.nearest(query, 51)[0].indices.tolist() == [*range(0, 200, 4), 2]
    assert len(many.nearest(query, 200)[0].indices) == 150


def test_vectors_that_differ_less_than_the_rounding_of_a_product_are_told_apart():
    rng = np.random.default_rng(4)
    vectors = (unit(rng, 1, 64) + rng.normal(size=(400, 64)) * 1e-8).astype(np.float32)
    (query,) = unit(rng, 1, 64)
    for queries in (query[None], np.repeat(query[None], 30, axis=0)):
        for hits in VectorRows([vectors]).nearest(queries, 5):
            places, scores = slow(query, vectors, 5)
            assert hits.indices.tolist() == places.tolist()
            assert np.array_equal(hits.scores, scores)


def test_nothing_and_what_does_not_fit():
    rng = np.random.default_rng(2)
    queries = unit(rng, 2, 4)
    assert [len(hits.indices) for hits in VectorRows([]).nearest(queries, 5)] == [0, 0]
    assert [len(hits.indices) for hits in VectorRows([unit(rng, 3, 4)]).nearest(queries, 0)] == [0, 0]
    all_gone = VectorRows([unit(rng, 3, 4)], LiveRows(3, np.arange(3)))
    assert [len(hits.indices) for hits in all_gone.nearest(queries, 5)] == [0, 0]
    with pytest.raises(ValueError, match="the vectors have 5 dimensions"):
        VectorRows([unit(rng, 3, 5)]).nearest(queries, 1)
    with pytest.raises(ValueError, match="not finite"):
        VectorRows([unit(rng, 3, 4)]).nearest(queries * np.nan, 1)
    with pytest.raises(ValueError, match="different widths"):
        VectorRows([unit(rng, 3, 4), unit(rng, 3, 5)])
    with pytest.raises(ValueError, match="3 vectors for 4 rows"):
        VectorRows([unit(rng, 3, 4)], LiveRows(4))


@given(st.integers(1, 40), st.data())
def test_places_and_rows_are_each_others_inverse(rows, data):
    deleted = sorted(data.draw(st.sets(st.integers(0, rows - 1))))
    live = LiveRows(rows, np.array(deleted, dtype=np.int64))
    left = [row for row in range(rows) if row not in deleted]
    assert len(live) == len(left)
    assert live.row_of(np.arange(len(left))).tolist() == left
    assert live.index_of(np.array(left, dtype=np.int64)).tolist() == list(range(len(left)))
    assert np.flatnonzero(live.mask()).tolist() == left
    assert np.flatnonzero(live.live(np.arange(rows))).tolist() == left


def unit_rows(rng, count):
    rows = rng.normal(size=(count, 8)).astype(np.float32)
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


@pytest.mark.parametrize("questions", [0, 1, 19, 20, 39, 40, 41, 85])
@pytest.mark.parametrize("block", [20, 4096])
def test_nearest_is_sorting_all_products(monkeypatch, questions, block):
    monkeypatch.setattr(vector_rows, "BLOCK", block)
    rng = np.random.default_rng(questions)
    queries, vectors = unit_rows(rng, questions), unit_rows(rng, 60)
    slow = np.argsort(-(queries @ vectors.T), axis=1, kind="stable")
    assert np.array_equal(nearest(queries, vectors, 7), slow[:, :7])
    assert nearest(queries, vectors, 100).shape == (questions, 60)


EVERY = np.arange(2**16, dtype=np.uint16).view(np.float16).reshape(-1, 64)  # infinities and what is no number too


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("mode", [None, "r", "c"])
def test_every_half_precision_number(tmp_path, mode):
    np.save(tmp_path / "rows.npy", EVERY)
    rows = np.load(tmp_path / "rows.npy", mmap_mode=mode)
    space = np.zeros((2000, 64), dtype=np.float32)
    found = widened(rows, space)
    assert found.base is space
    assert np.array_equal(found, EVERY.astype(np.float32), equal_nan=True)
    assert not space[1024:].any()


def test_rows_from_the_middle_and_none():
    space = np.empty((50, 64), dtype=np.float32)
    assert np.array_equal(widened(EVERY[300:340], space), EVERY[300:340].astype(np.float32))
    assert widened(EVERY[:0], space).shape == (0, 64)
