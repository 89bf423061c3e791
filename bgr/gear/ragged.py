"""Flat arrays with an owner index: ranges, and ranks within each owner's part."""

from __future__ import annotations

import numpy as np


def ranges(first: np.ndarray, count: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """``first[i], first[i] + 1, …`` (`count[i]` numbers) one after the other, and the ``i`` of each."""
    row = np.repeat(np.arange(len(first)), count)
    before = np.cumsum(count) - count
    return np.arange(len(row)) - before[row] + first[row], row


def ranks(owner: np.ndarray, scores: np.ndarray) -> np.ndarray:
    """The rank of each row among its owner's by falling score, from 0; equal scores in the order given.

    *Shape:* ``[n]``, ``[n]`` -> ``int64 [n]``.
    """
    order = np.lexsort((-scores, owner))  # stable
    sizes = np.bincount(owner)
    before = np.cumsum(sizes) - sizes
    rank = np.empty(len(owner), dtype=np.int64)
    rank[order] = np.arange(len(owner)) - before[owner[order]]
    return rank
