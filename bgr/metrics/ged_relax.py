"""An upper bound on the gain of a mapping: the smaller graph as a tree, its facts free to share an image at a price.

Every fact of the smaller graph keeps one parent, and facts may share an image. The best such mapping is found exactly,
children before parents. A price on every image, paid by whoever takes it and added to the bound once, makes sharing
dear: whatever the prices, no proper mapping gains more, and the subgradient method moves them towards the least bound
(Lagrangian relaxation). Exact or nearly so on trees, where a bound by degrees alone is weak.

Legend: ``a``, ``b`` nodes of the smaller and the larger graph, the root first in each.
"""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np

from bgr.metrics.ged_side import Side

ROUNDS = 60
"""Steps of the subgradient method."""

NEVER = -1e9


@dataclass(frozen=True)
class Relaxed:
    """Bounds under the best prices.

    Once the parent of a node has the image q and the node gets the image k, the bound falls by ``with_parent[node, q]``
    and rises by ``alone[node, k]`` and 2 for each edge to its parents that is shared. `slack` can be taken off after
    that: the children of a node share no more edges with it than its image has.

    Args:
        bound: on the gain of any mapping.
        start: the same before the root's `slack` is taken off.
        parent: ``[a]`` the parent that each node keeps.
        alone, slack, with_parent: ``[a, b]``.
    """

    bound: float
    start: float
    parent: list[int]
    alone: np.ndarray
    slack: np.ndarray
    with_parent: np.ndarray


def relax(small: Side, large: Side, replaced: np.ndarray, known: int, deadline: float) -> Relaxed:
    """The least bound found.

    Args:
        replaced: ``[a, b]`` 1 where the image is another fact.
        known: gain of some mapping, by which the steps are measured.
        deadline: clock (`time.perf_counter`) after which no further step is made.
    """
    trees = _Trees(small, large, replaced)
    price = np.zeros(len(large.facts))
    best: Relaxed | None = None
    for step in range(ROUNDS):
        found, takers = trees.bound(price)
        if best is None or found.bound < best.bound:
            best = found
        direction = 1.0 - takers
        if len(small.facts) < len(large.facts):  # an image may stay free: no price below zero
            direction[(price <= 0) & (direction > 0)] = 0
        length = float(direction @ direction)
        if not length or best.bound < known + 1 or time.perf_counter() > deadline:
            break
        eagerness = 1.0 if step < ROUNDS * 0.4 else 0.5
        price = price - eagerness * max(found.bound - known, 0.2) / length * direction
        if len(small.facts) < len(large.facts):
            price = np.maximum(price, 0)
        price[0] = 0
    assert best is not None  # there is at least one step
    return best


class _Trees:
    def __init__(self, small: Side, large: Side, replaced: np.ndarray) -> None:
        self.replaced = replaced
        self.parent = [max(parents, default=-1) for parents in small.parents]
        self.children: list[list[int]] = [[] for _ in small.facts]
        for node, parent in enumerate(self.parent[1:], start=1):
            self.children[parent].append(node)
        others = large.matrix()
        self.out = others.sum(1)
        self.unless_edge = np.where(others > 0, 0.0, NEVER)  # [b, b]
        edges_in = np.array([len(parents) for parents in small.parents])[:, None]  # [a, 1]
        # [a, b]: 2 for each edge to a parent, if that to the kept one is shared, and if not
        self.kept = 2.0 * np.minimum(edges_in, others.sum(0))
        self.broken = 2.0 * np.minimum(edges_in - 1, others.sum(0))

    def bound(self, price: np.ndarray) -> tuple[Relaxed, np.ndarray]:
        """The bound under these prices, and how many take each image in the best mapping."""
        a, b = self.replaced.shape
        alone, slack, with_parent = np.zeros((a, b)), np.zeros((a, b)), np.zeros((a, b))
        broken, broken_image = np.zeros(a), np.zeros(a, dtype=np.int64)
        kept_image = np.zeros((a, b), dtype=np.int64)
        wins = np.zeros((a, b))  # by sharing the edge to the kept parent instead of breaking it
        for node in reversed(range(a)):
            value = -self.replaced[node] - price
            if children := self.children[node]:
                most = np.maximum(0, wins[children])  # [children, b]
                wins[children] = few = _largest(most, self.out)
                value = value + broken[children].sum() + few.sum(0)
                slack[node] = most.sum(0) - few.sum(0)
            alone[node] = value + slack[node]
            if node:
                apart = value + self.broken[node]
                apart[0] = NEVER
                broken_image[node] = apart.argmax()
                broken[node] = apart[broken_image[node]]
                joined = (value + self.kept[node])[None] + self.unless_edge  # [b of the parent, b]
                kept_image[node] = joined.argmax(1)
                wins[node] = joined.max(1) - broken[node]
                with_parent[node] = broken[node] + np.maximum(0, wins[node])
        start = float(alone[0, 0] + price.sum())
        image = [0] * a
        for node in range(1, a):
            at = image[self.parent[node]]
            image[node] = int(kept_image[node, at] if wins[node, at] > 0 else broken_image[node])
        relaxed = Relaxed(start - float(slack[0, 0]), start, self.parent, alone, slack, with_parent)
        return relaxed, np.bincount(image, minlength=b).astype(float)


def _largest(values: np.ndarray, count: np.ndarray) -> np.ndarray:
    """``[n, b]``: the `count` largest of each column, the others set to 0."""
    if len(values) == 1:
        return values  # a single child: without an edge there is nothing to win
    rank = np.argsort(np.argsort(-values, axis=0, kind="stable"), axis=0)
    return np.where(rank < count, values, 0)
