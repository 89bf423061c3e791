"""A good mapping for the graph edit distance by swapping images: what the search has to beat, and the answer's upper
bound when time runs out.

Legend: ``a``, ``b`` nodes of the smaller and the larger graph. A mapping is written as an order of all ``b`` nodes; the
image of node n of the smaller graph stands at place n, what is left over behind.
"""

from __future__ import annotations

import random
import time

import numpy as np

SHAKES = 30
"""Local optima to try; each starts from the best so far with a few images swapped at random."""

SHAKEN = 4
"""Random swaps in one start."""


def good_order(edges: np.ndarray, other: np.ndarray, replaced: np.ndarray, deadline: float) -> tuple[np.ndarray, int]:
    """The best order found and its gain, ``2 * common edges - replaced facts``.

    Args:
        edges: ``[a, a]`` 0/1 matrix of the smaller graph.
        other: ``[b, b]`` of the larger one.
        replaced: ``[a, b]`` 1 where the image is another fact.
        deadline: clock (`time.perf_counter`) after which no further start is made.
    """
    size = len(other)
    padded, costs = np.zeros_like(other), np.zeros_like(other)
    padded[: len(edges), : len(edges)] = edges
    costs[: len(edges)] = replaced
    rng = random.Random(0)
    best, best_gain = _climb(np.arange(size), padded, other, costs)
    for _ in range(SHAKES if size > 2 else 0):
        if time.perf_counter() > deadline:
            break
        order = best.copy()
        for _ in range(SHAKEN):
            i, j = rng.randrange(1, size), rng.randrange(1, size)
            order[[i, j]] = order[[j, i]]
        order, gain = _climb(order, padded, other, costs)
        if gain >= best_gain:
            best, best_gain = order, gain
    return best, best_gain


def _climb(order: np.ndarray, edges: np.ndarray, other: np.ndarray, costs: np.ndarray) -> tuple[np.ndarray, int]:
    """Swap the two images that gain the most until no swap gains; the root stays."""
    order = order.copy()
    while True:
        moved, cost = other[np.ix_(order, order)], costs[:, order]  # [b, b]: as the mapping lays them on `edges`
        # [i, j]: common edges of node i, if it had the image of node j and all others kept theirs
        common = edges @ moved.T + edges.T @ moved
        between = edges * moved.T + edges * moved  # of two nodes that swap: their edge after, and counted twice before
        change = 2 * (common + between) - cost
        change = change + change.T
        now = 2 * common.diagonal() - cost.diagonal()
        change -= now[:, None] + now
        change[0] = change[:, 0] = 0
        i, j = np.unravel_index(np.argmax(change), change.shape)
        if change[i, j] <= 0:
            return order, int(common.diagonal().sum() - cost.diagonal().sum())
        order[[i, j]] = order[[j, i]]
