"""Exact nearest rows by inner product, also of half-precision vectors that lie on disk, equal scores by place."""

from __future__ import annotations

import faiss
import numpy as np
import torch

from bgr.search.interface import Hits

ROWS = 65536
"""Rows that are in single precision at one time: 100 MB at 384 numbers each."""

MORE = 32
"""Rows asked of FAISS beyond those wanted, to see whether the last one wanted is tied."""

MARGIN = 1e-5
"""More than what two ways to add up the products of unit vectors differ by (some 1e-7)."""


def nearest_rows(queries: np.ndarray, vectors: np.ndarray, k: int) -> list[Hits]:
    """The `k` rows with the largest inner products for each query, all if there are fewer.

    FAISS finds the candidates; it gives equal rows in any order, and slightly different scores by where they lie, so
    that candidates are scored again, and everything is where a tie could reach beyond them.

    Args:
        queries: ``float32 [q, d]``.
        vectors: ``float16 or float32 [n, d]``, unit rows.
        k: how many.

    Raises:
        ValueError: the widths differ.
    """
    k = min(k, len(vectors))
    if k < 1:
        return [Hits(np.empty(0, dtype=np.int64), np.empty(0, dtype=np.float32)) for _ in queries]
    queries = np.ascontiguousarray(queries, dtype=np.float32)
    if queries.ndim != 2 or queries.shape[1] != vectors.shape[1]:
        raise ValueError(f"queries of shape {list(queries.shape)}, vectors of width {vectors.shape[1]}")
    if not len(queries):
        return []
    scores, places = _candidates(queries, vectors, min(k + MORE, len(vectors)))
    return [_ranked(*row, vectors, k) for row in zip(queries, scores, places, strict=True)]


def _candidates(queries: np.ndarray, vectors: np.ndarray, count: int) -> tuple[np.ndarray, np.ndarray]:
    """Scores ``[q, count]`` and places by FAISS, best first, block of rows by block."""
    best = np.empty((len(queries), 0), dtype=np.float32), np.empty((len(queries), 0), dtype=np.int64)
    buffer = None if vectors.dtype == np.float32 else np.empty((min(ROWS, len(vectors)), vectors.shape[1]), np.float32)
    for start in range(0, len(vectors), ROWS):
        rows = _single(vectors[start : start + ROWS], buffer)
        scores, places = faiss.knn(queries, rows, min(count, len(rows)), metric=faiss.METRIC_INNER_PRODUCT)
        scores[places < 0] = -np.inf  # not numbers
        scores = np.concatenate([best[0], scores], axis=1)
        places = np.concatenate([best[1], np.where(places < 0, -1, places + start)], axis=1)
        order = np.argsort(-scores, axis=1, kind="stable")[:, :count]
        best = np.take_along_axis(scores, order, 1), np.take_along_axis(places, order, 1)
    return best


def _ranked(query: np.ndarray, scores: np.ndarray, places: np.ndarray, vectors: np.ndarray, k: int) -> Hits:
    places = np.sort(places[places >= 0])
    exact = _scores(query, vectors[places])
    order = np.argsort(-exact, kind="stable")[:k]
    margin = MARGIN * float(np.linalg.norm(query))
    if len(scores) == len(vectors) or (len(order) == k and scores[-1] < exact[order[-1]] - margin):
        return Hits(places[order], exact[order])
    everything = [_scores(query, vectors[start : start + ROWS]) for start in range(0, len(vectors), ROWS)]
    exact = np.concatenate(everything)
    order = np.argsort(-exact, kind="stable")[:k]  # what is not a number comes last
    order = order[~np.isnan(exact[order])]
    return Hits(order, exact[order])


def _scores(query: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """Row by row, each added up in one and the same way, so that equal rows get equal scores."""
    return (rows.astype(np.float32) * query).sum(axis=1)


def _single(rows: np.ndarray, buffer: np.ndarray | None) -> np.ndarray:
    if buffer is None:
        return np.ascontiguousarray(rows)
    # PyTorch converts in hardware, eight times as fast as NumPy
    torch.from_numpy(buffer[: len(rows)]).copy_(torch.from_numpy(rows))
    return buffer[: len(rows)]
