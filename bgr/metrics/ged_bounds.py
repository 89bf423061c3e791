"""Data structures and bounds for the search of the graph edit distance.

`Side` holds one of the two graphs as ordered nodes and bit sets, and `Kinds` its interchangeable facts. `relax` is an
upper bound on the gain of a mapping, and `good_order` finds a good mapping by local search, that is, a lower bound.

`relax` is a Lagrangian relaxation. Every fact of the smaller graph keeps only one parent, which makes the graph a tree,
and facts may share an image. Dynamic programming, children before parents, finds the best such mapping exactly. Each
image has a price, which every fact mapped to it pays and which is added to the bound once. For any prices, the result
bounds the gain of every valid mapping; the subgradient method moves the prices toward the lowest bound. The bound is
exact or nearly exact on trees, where a bound from degrees alone is weak.

Legend: ``a``, ``b`` nodes of the smaller and the larger graph, the root first in each.
"""

from __future__ import annotations

import random
import time
from collections.abc import Collection, Hashable, Iterable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from bgr.graph.evidence_graph import ROOT, Edge


class Side(NamedTuple):
    """One of the two graphs, with nodes renumbered: 0 is the root, and parents come before children. Of the nodes that
    may come next, the one with the most edges does. `facts` has the fact number of each node, the root's first, and
    `before` and `after` its predecessors and successors as bit sets; `edges` is the number of edges."""

    facts: list[int]
    parents: list[list[int]]
    before: list[int]
    after: list[int]
    edges: int

    @classmethod
    def of(cls, edges: Collection[Edge]) -> Side:
        children: dict[int, list[int]] = {ROOT: []}
        degree: dict[int, int] = {}
        edges_in: dict[int, int] = {}
        for a, b in sorted(edges):
            if a in children:
                children[a].append(b)
            else:
                children[a] = [b]
            edges_in[b] = edges_in.get(b, 0) + 1
        side = cls([], [], [], [], len(edges))
        facts, parents, before, after, _ = side
        found: dict[int, list[int]] = {ROOT: []}
        ready = [ROOT]
        while ready:
            if len(ready) == 1:
                fact = ready.pop()
            else:
                degree = degree or {n: count + len(children.get(n, ())) for n, count in edges_in.items()}
                fact = ready.pop(ready.index(max(ready, key=degree.__getitem__)))
            number, mask = len(facts), 0
            for parent in found[fact]:
                mask |= 1 << parent
                after[parent] |= 1 << number
            facts.append(fact)
            parents.append(found[fact])
            before.append(mask)
            after.append(0)
            for child in children.get(fact, ()):
                if child in found:
                    found[child].append(number)
                else:
                    found[child] = [number]
                if len(found[child]) == edges_in[child]:
                    ready.append(child)
        return side

    def matrix(self) -> np.ndarray:
        """The adjacency matrix ``[n, n]`` of zeros and ones."""
        edges = np.zeros((len(self.facts), len(self.facts)), dtype=np.int64)
        for node, parents in enumerate(self.parents):
            edges[parents, node] = 1
        return edges


@dataclass(frozen=True)
class Kinds:
    """Classes of interchangeable facts of one graph.

    Two facts are of one `kind` if they have the same predecessors and if the subgraphs reachable only through them are
    isomorphic: swapping the two facts, each with its private `subtree` (a bit set of the node and all nodes that can be
    reached through it only), is an automorphism. `twin_before` is the last earlier node of the same kind, or 0 (the
    root, which is of no other node's kind).
    """

    kind: list[int]
    subtree: list[int]
    twin_before: list[int]

    @classmethod
    def of(cls, side: Side, shared: Collection[int]) -> Kinds:
        """Find the classes. Facts in `shared` occur in the other graph too and are interchangeable with no other."""
        shapes: dict[tuple[object, ...], int] = {}
        shape = [0] * len(side.facts)
        subtree = [1 << node for node in range(len(side.facts))]
        for node in reversed(range(len(side.facts))):
            children = [n for n in range(node + 1, len(side.facts)) if side.after[node] >> n & 1]
            own = [n for n in children if len(side.parents[n]) == 1]
            others = tuple(n for n in children if len(side.parents[n]) > 1)
            identity = side.facts[node] if side.facts[node] in shared else None
            key = (identity, tuple(sorted(shape[n] for n in own)), others)
            shape[node] = shapes.setdefault(key, len(shapes))
            for child in own:
                subtree[node] |= subtree[child]
        kinds: dict[tuple[int, int], int] = {}
        kind = [kinds.setdefault(key, len(kinds)) for key in zip(side.before, shape, strict=True)]
        return cls(kind, subtree, twins(kind))


def twins(keys: Iterable[Hashable]) -> list[int]:
    """The last earlier index with the same key, or 0, for each index."""
    last: dict[Hashable, int] = {}
    found = []
    for i, key in enumerate(keys):
        found.append(last.get(key, 0))
        last[key] = i
    return found


ROUNDS = 60
"""Maximum number of steps of the subgradient method."""

NEVER = -1e9


@dataclass(frozen=True)
class Relaxed:
    """Bounds under the best prices.

    If a node, whose parent has the image q, is mapped to k, the bound falls by ``with_parent[node, q]`` and rises by
    ``alone[node, k]``, plus 2 for each shared edge to its parents. After that `slack` can be subtracted, because the
    children of a node share no more edges with it than its image has.

    Args:
        bound: upper bound on the gain of any mapping.
        start: the same before the root's `slack` is subtracted.
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
    """The lowest upper bound found by the subgradient method before the `deadline` (`time.perf_counter`). `replaced`
    ``[a, b]`` is 1 where the image is another fact; `known` is the gain of some mapping, used for the step size."""
    trees = _Trees(small, large, replaced)
    price = np.zeros(len(large.facts))
    best: Relaxed | None = None
    for step in range(ROUNDS):
        found, takers = trees.bound(price)
        if best is None or found.bound < best.bound:
            best = found
        direction = 1.0 - takers
        if len(small.facts) < len(large.facts):  # an image may remain free: prices are not negative
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
        # [a, b]: 2 for each edge to a parent, if the edge to the kept parent is shared, and if not
        self.kept = 2.0 * np.minimum(edges_in, others.sum(0))
        self.broken = 2.0 * np.minimum(edges_in - 1, others.sum(0))

    def bound(self, price: np.ndarray) -> tuple[Relaxed, np.ndarray]:
        """The bound under these prices, and the number of nodes mapped to each image in the best mapping."""
        a, b = self.replaced.shape
        alone, slack, with_parent = np.zeros((a, b)), np.zeros((a, b)), np.zeros((a, b))
        broken, broken_image = np.zeros(a), np.zeros(a, dtype=np.int64)
        kept_image = np.zeros((a, b), dtype=np.int64)
        wins = np.zeros((a, b))  # gain of sharing the edge to the kept parent over breaking it
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
    """``[n, b]``: keep the `count` largest values of each column and set the others to 0."""
    if len(values) == 1:
        return values  # a single child: without an edge it gains nothing
    rank = np.argsort(np.argsort(-values, axis=0, kind="stable"), axis=0)
    return np.where(rank < count, values, 0)


RESTARTS = 30
"""Restarts of the local search, each from the best order with a few images swapped at random."""

SWAPS = 4
"""Random swaps in one restart."""


def good_order(edges: np.ndarray, other: np.ndarray, replaced: np.ndarray, deadline: float) -> tuple[np.ndarray, int]:
    """Find a good mapping by swapping images, and its gain ``2 * common edges - replaced facts``.

    A mapping is an order of all ``b`` nodes: the image of node n of the smaller graph is at index n, and unused nodes
    follow at the end. `edges` ``[a, a]`` and `other` ``[b, b]`` are the adjacency matrices of the smaller and the
    larger graph; `replaced` ``[a, b]`` is 1 where the image is another fact. No restart is made after the `deadline`.
    """
    size = len(other)
    padded, costs = np.zeros_like(other), np.zeros_like(other)
    padded[: len(edges), : len(edges)] = edges
    costs[: len(edges)] = replaced
    rng = random.Random(0)
    best, best_gain = _climb(np.arange(size), padded, other, costs)
    for _ in range(RESTARTS if size > 2 else 0):
        if time.perf_counter() > deadline:
            break
        order = best.copy()
        for _ in range(SWAPS):
            i, j = rng.randrange(1, size), rng.randrange(1, size)
            order[[i, j]] = order[[j, i]]
        order, gain = _climb(order, padded, other, costs)
        if gain >= best_gain:
            best, best_gain = order, gain
    return best, best_gain


def _climb(order: np.ndarray, edges: np.ndarray, other: np.ndarray, costs: np.ndarray) -> tuple[np.ndarray, int]:
    """Swap the two images whose swap gains the most until no swap gains; the root is not swapped."""
    order = order.copy()
    while True:
        moved, cost = other[np.ix_(order, order)], costs[:, order]  # [b, b]: aligned with `edges` by the mapping
        # [i, j]: common edges of node i if only it were mapped to the image of node j
        common = edges @ moved.T + edges.T @ moved
        between = edges * moved.T + edges * moved  # correction for an edge between the two swapped nodes
        change = 2 * (common + between) - cost
        change = change + change.T
        now = 2 * common.diagonal() - cost.diagonal()
        change -= now[:, None] + now
        change[0] = change[:, 0] = 0
        i, j = np.unravel_index(np.argmax(change), change.shape)
        if change[i, j] <= 0:
            return order, int(common.diagonal().sum() - cost.diagonal().sum())
        order[[i, j]] = order[[j, i]]
