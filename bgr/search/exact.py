"""Exact nearest neighbours by inner product, with progress."""

from __future__ import annotations

from itertools import pairwise

import faiss
import numpy as np
from tqdm import tqdm

BLOCK = 4096
"""Queries in one call; FAISS itself works in blocks of so many, so that cutting here changes no bit of the result."""


def nearest(queries: np.ndarray, vectors: np.ndarray, count: int, *, progress: bool = False) -> np.ndarray:
    """The rows of `vectors` with the largest inner products, best first.

    Args:
        queries: ``float32 [q, d]``.
        vectors: ``float32 [n, d]``; they are searched in place, no copy is made of what may be a gigabyte.
        count: how many for each query; all where there are fewer.
        progress: show a bar on standard error.

    Returns:
        ``int64 [q, min(count, n)]``.
    """
    count = min(count, len(vectors))
    found = np.empty((len(queries), count), dtype=np.int64)
    # the last block takes the rest: FAISS adds up otherwise where there are very few queries
    bounds = [*range(0, max(len(queries) - BLOCK, 0) + 1, BLOCK), len(queries)]
    with tqdm(total=len(queries), desc="search", unit="question", disable=not progress) as bar:
        for start, end in pairwise(bounds):
            found[start:end] = faiss.knn(queries[start:end], vectors, count, metric=faiss.METRIC_INNER_PRODUCT)[1]
            bar.update(end - start)
    return found
