"""Search among vectors, against sorting all the scores; ties go by place whatever FAISS says."""

from __future__ import annotations

import numpy as np
import pytest

from bgr.triples import nearest
from bgr.triples.nearest import nearest_rows


def unit(rows: np.ndarray) -> np.ndarray:
    return rows / np.linalg.norm(rows, axis=-1, keepdims=True)


def slow(query: np.ndarray, vectors: np.ndarray, k: int) -> list[int]:
    scores = [float((row.astype(np.float32) * query).sum()) for row in vectors]
    return sorted(range(len(vectors)), key=lambda place: (-scores[place], place))[:k]


@pytest.mark.parametrize("kind", [np.float16, np.float32])
@pytest.mark.parametrize("rows", [7, 64, 1000])  # of one block, one whole block, and all
@pytest.mark.parametrize("k", [1, 5, 200, 999])
def test_equals_sorting(monkeypatch, kind, rows, k):
    monkeypatch.setattr(nearest, "ROWS", rows)
    monkeypatch.setattr(nearest, "MORE", 4)
    rng = np.random.default_rng(k)
    distinct = unit(rng.standard_normal((60, 24)))
    # most rows stand many times, so that ties reach far beyond the candidates
    vectors = distinct[rng.integers(0, 60, 300)].astype(kind)
    queries = unit(rng.standard_normal((9, 24))).astype(np.float32)
    for query, hits in zip(queries, nearest_rows(queries, vectors, k), strict=True):
        assert hits.places.tolist() == slow(query, vectors, k)
        np.testing.assert_allclose(hits.scores, vectors[hits.places].astype(np.float32) @ query, atol=1e-6)
        assert hits.places.dtype == np.int64
        assert hits.scores.dtype == np.float32


def test_all_rows_equal():
    vectors = np.tile(unit(np.arange(1.0, 9)), (5000, 1)).astype(np.float16)
    [hits] = nearest_rows(vectors[:1].astype(np.float32), vectors, 100)
    assert hits.places.tolist() == list(range(100))
    assert len(set(hits.scores.tolist())) == 1


def test_a_query_alone_finds_the_same_as_among_others():
    rng = np.random.default_rng(0)
    vectors = unit(rng.standard_normal((400, 16))).astype(np.float32)
    queries = unit(rng.standard_normal((40, 16))).astype(np.float32)
    for number, hits in enumerate(nearest_rows(queries, vectors, 10)):
        [alone] = nearest_rows(queries[number : number + 1], vectors, 10)
        assert np.array_equal(alone.places, hits.places)
        assert np.array_equal(alone.scores, hits.scores)


def test_rows_that_are_no_numbers_are_not_found():
    vectors = np.eye(4, dtype=np.float32)
    vectors[1] = np.nan
    assert nearest_rows(np.eye(4, dtype=np.float32)[:1], vectors, 4)[0].places.tolist() == [0, 2, 3]
    many = np.tile(vectors, (50, 1))
    assert nearest_rows(np.eye(4, dtype=np.float32)[:1], many, 51)[0].places.tolist() == [*range(0, 200, 4), 2]
    assert len(nearest_rows(np.eye(4, dtype=np.float32)[:1], many, 200)[0].places) == 150


def test_nothing_to_find():
    vectors = np.eye(3, dtype=np.float32)
    assert nearest_rows(vectors[:0], vectors, 2) == []
    for hits in (*nearest_rows(vectors, vectors, 0), *nearest_rows(vectors, np.empty((0, 0), dtype=np.float32), 5)):
        assert hits.places.shape == hits.scores.shape == (0,)
    with pytest.raises(ValueError, match=r"\[3, 3\].*width 4"):
        nearest_rows(vectors, np.eye(4, dtype=np.float32), 2)
