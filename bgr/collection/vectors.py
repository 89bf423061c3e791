"""Nearest neighbors by inner product among unit vectors, in memory or on disk, and dense search."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise

import faiss
import numpy as np
import torch
from tqdm import tqdm

from bgr.collection.approximate import Approximate
from bgr.collection.arrays import LiveRows
from bgr.collection.search import Hits, Search, ordered

BLOCK = 4096
"""Number of queries in one call; FAISS uses the same blocks itself, so that cutting changes no bit of the result."""


def nearest(queries: np.ndarray, vectors: np.ndarray, count: int, *, progress: bool = False) -> np.ndarray:
    """The `count` rows of `vectors` with the largest inner products, best first; the vectors are not copied.

    *Shape:* ``float32 [q, d]``, ``float32 [n, d]`` -> ``int64 [q, min(count, n)]``.
    """
    count = min(count, len(vectors))
    found = np.empty((len(queries), count), dtype=np.int64)
    # the last block takes the rest: FAISS sums in another order if there are very few queries
    bounds = [*range(0, max(len(queries) - BLOCK, 0) + 1, BLOCK), len(queries)]
    with tqdm(total=len(queries), desc="search", unit="question", disable=not progress) as bar:
        for start, end in pairwise(bounds):
            found[start:end] = faiss.knn(queries[start:end], vectors, count, metric=faiss.METRIC_INNER_PRODUCT)[1]
            bar.update(end - start)
    return found


def widened(rows: np.ndarray, space: np.ndarray) -> np.ndarray:
    """Rows ``float16 [n, d]`` as float32 at the beginning of `space`, ``float32 [n or more, d]``.

    PyTorch converts in hardware, eight times as fast as NumPy.
    """
    torch.from_numpy(space[: len(rows)]).copy_(torch.from_numpy(np.asarray(_SeeminglyWritable(rows))))
    return space[: len(rows)]


class _SeeminglyWritable:
    """A read-only array that claims to be writable, since PyTorch warns of read-only ones; nothing writes to it.

    Mapping files copy-on-write would also avoid the warning, but fails for a file larger than the memory.
    """

    def __init__(self, rows: np.ndarray) -> None:
        self.rows = rows  # keeps the memory alive
        self.__array_interface__ = {**rows.__array_interface__, "data": (rows.ctypes.data, False)}


HALF_BLOCK = 4096
"""Number of float16 rows converted to float32 at a time: 6 MB with 384 dimensions, which fits into caches."""

QUERIES = 1024
"""Number of queries searched at a time."""

UNIT = 2e-3
"""Tolerance of the length of a unit vector (float16 causes up to 5e-4)."""


class VectorRows:
    """Unit vectors, which may be memory-mapped.

    FAISS finds candidates. Their scores are then computed again in float64, one by one, and rounded, so that a score
    depends neither on the other queries nor on the division into parts; equal vectors have equal scores and rank by
    index. More candidates are requested until the rounding of FAISS cannot have left out one of the best.

    Args:
        parts: ``[n, d]`` each, float32 or float16, C-contiguous.
        live: the rows of all parts that are not deleted; ``None`` for all.
        near: proposes candidates in place of the exact search, for millions of vectors; scores stay exact.

    Raises:
        ValueError: parts of different widths, or another number of rows than `live` has.
    """

    def __init__(
        self, parts: Sequence[np.ndarray], live: LiveRows | None = None, near: Approximate | None = None
    ) -> None:
        if len({part.shape[1] for part in parts}) > 1:
            raise ValueError(f"parts of different widths: {[part.shape for part in parts]}")
        self.parts = tuple(parts)
        self.starts = np.cumsum([0, *(len(part) for part in parts)])
        self.live = LiveRows(int(self.starts[-1])) if live is None else live
        if self.live.rows != self.starts[-1]:
            raise ValueError(f"{self.starts[-1]} vectors for {self.live.rows} rows")
        self.width = parts[0].shape[1] if parts else 0
        self.near = near

    def __len__(self) -> int:
        return len(self.live)

    def take(self, indices: np.ndarray) -> np.ndarray:
        """The vectors of indices, ``int64 [n]`` → ``float32 [n, d]``."""
        return self._take(self.live.row_of(np.asarray(indices, dtype=np.int64)))

    def nearest(self, queries: np.ndarray, k: int) -> list[Hits]:
        """The `k` vectors (all if there are fewer) with the largest inner products for each query, ``float32 [q, d]``.

        Raises:
            ValueError: the queries have another width, or a number that is not finite.
        """
        k = max(min(k, len(self)), 0)
        queries = np.ascontiguousarray(queries, dtype=np.float32)
        if k and (queries.ndim != 2 or queries.shape[1] != self.width):
            raise ValueError(f"queries of shape {queries.shape}; the vectors have {self.width} dimensions")
        if not np.isfinite(queries).all():
            raise ValueError("a query's vector holds a number that is not finite")
        if not k:
            return [Hits(np.zeros(0, np.int64), np.zeros(0, np.float32))] * len(queries)
        found: list[Hits] = []
        for start in range(0, len(queries), QUERIES):
            found += self._nearest(queries[start : start + QUERIES], k)
        return found

    def _nearest(self, queries: np.ndarray, k: int) -> list[Hits]:
        share = len(self.live) / self.live.rows
        if self.near is not None:
            proposed = self.near.nearest(queries, min(int((10 * k + 100) / share), self.live.rows))
            return [
                self._rescored(query, row[(row >= 0) & self.live.live(row)], k)
                for query, row in zip(queries, proposed, strict=True)
            ]
        count = min(int((k + k // 8 + 16) / share), self.live.rows)
        hits: dict[int, Hits] = {}
        left = np.arange(len(queries))
        while len(left):
            scores, rows = self._candidates(queries[left], count)
            for query, lowest, row in zip(left.tolist(), scores[:, -1], rows, strict=True):
                found = self._rescored(queries[query], row[(row >= 0) & self.live.live(row)], k)
                if count == self.live.rows or (
                    len(found.indices) == k and found.scores[-1] > lowest + self._slack(query, queries)
                ):
                    hits[query] = found
            left = np.array([query for query in left.tolist() if query not in hits], dtype=np.int64)
            count = min(count * 4, self.live.rows)
        return [hits[query] for query in range(len(queries))]

    def _slack(self, query: int, queries: np.ndarray) -> float:
        """Twice the maximum error of a product in float32: ``d · 2^-24 · |q| · |v|``, ``|v|`` about 1."""
        return 2 * (self.width + 2) * 2.0**-24 * (1 + UNIT) * float(np.linalg.norm(queries[query]))

    def _candidates(self, queries: np.ndarray, count: int) -> tuple[np.ndarray, np.ndarray]:
        """Scores and rows ``[q, count]`` of the best rows, including deleted ones, as FAISS ranks them."""
        score, row = np.empty((len(queries), 0), np.float32), np.empty((len(queries), 0), np.int64)
        for start, block in self._blocks():
            part = faiss.knn(queries, block, min(count, len(block)), metric=faiss.METRIC_INNER_PRODUCT)
            score = np.concatenate([score, part[0]], axis=1)
            # -1 for a damaged vector that is not a number
            row = np.concatenate([row, np.where(part[1] < 0, -1, part[1] + start)], axis=1)
            if start:  # the first block is sorted already
                order = np.argsort(-score, axis=1, kind="stable")[:, :count]
                score, row = np.take_along_axis(score, order, axis=1), np.take_along_axis(row, order, axis=1)
        return score, row

    def _blocks(self) -> Iterator[tuple[int, np.ndarray]]:
        """First row and rows of each block in float32; the next block overwrites it."""
        space = np.empty((HALF_BLOCK, self.width), dtype=np.float32)  # takes no memory before it is written to
        for start, part in zip(self.starts.tolist(), self.parts, strict=False):
            whole = part.dtype == np.float32
            size = max(len(part), 1) if whole else HALF_BLOCK
            for row in range(0, len(part), size):
                block = part[row : row + size]
                yield start + row, block if whole else widened(block, space)

    def _rescored(self, query: np.ndarray, rows: np.ndarray, k: int) -> Hits:
        rows = np.sort(rows)
        scores = (self._take(rows).astype(np.float64) * query.astype(np.float64)).sum(axis=1)
        found = ordered(self.live.index_of(rows), scores.astype(np.float32))
        return Hits(found.indices[:k], found.scores[:k])

    def _take(self, rows: np.ndarray) -> np.ndarray:
        vectors = np.empty((len(rows), self.width), dtype=np.float32)
        part_of = np.searchsorted(self.starts, rows, side="right") - 1
        for number in np.unique(part_of).tolist():
            mine = part_of == number
            vectors[mine] = self.parts[number][rows[mine] - self.starts[number]]
        return vectors


def check_unit(vectors: np.ndarray, count: int, where: str) -> np.ndarray:
    """Return the vectors; ValueError, with `where` before its message, unless they are unit vectors ``[count, d]``."""
    if vectors.ndim != 2 or len(vectors) != count:
        raise ValueError(
            f"{where}: the encoder gave shape {vectors.shape} for {count} texts; one row for each is allowed"
        )
    lengths = np.linalg.norm(vectors.astype(np.float32, copy=False), axis=1)
    bad = np.flatnonzero(~(np.abs(lengths - 1) <= UNIT))
    if len(bad):
        raise ValueError(
            f"{where}: vector {bad[0]} has length {lengths[bad[0]]:.4g}; the encoder must give unit vectors"
        )
    return vectors


Encoder = Callable[[Sequence[str]], np.ndarray]
"""Texts to unit vectors, ``float32 [n, d]``, such as `SentenceEncoder` and `VectorStore`."""


def encode_queries(encoder: Encoder, texts: Sequence[str]) -> np.ndarray:
    """Unit vectors of queries, ``float32 [n, d]``: by the method ``queries`` of an encoder that has one, because it was
    trained with an instruction before queries."""
    encode: Encoder = getattr(encoder, "queries", encoder)
    return encode(texts)


class DenseSearch(Search):
    """Search for the texts whose vectors have the largest inner product with the query's."""

    def __init__(self, encoder: Encoder, vectors: VectorRows) -> None:
        self.encoder = encoder
        self.vectors = vectors

    @classmethod
    def of_texts(cls, texts: Sequence[str], encoder: Encoder) -> DenseSearch:
        """Encode the texts; ValueError if the encoder does not give one unit vector for each text."""
        vectors = check_unit(encoder(texts), len(texts), "texts")
        return cls(encoder, VectorRows([np.ascontiguousarray(vectors, dtype=np.float32)]))

    def __len__(self) -> int:
        return len(self.vectors)

    def search_all(self, queries: Sequence[str], k: int) -> list[Hits]:
        """See `Search`; scores are cosines."""
        return self.vectors.nearest(encode_queries(self.encoder, queries), k) if queries else []

    def subset(self, indices: np.ndarray) -> DenseSearch:
        """See `Search`; the vectors of the subset are copied into memory."""
        return DenseSearch(self.encoder, VectorRows([self.vectors.take(indices)]))
