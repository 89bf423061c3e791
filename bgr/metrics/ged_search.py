"""Branch and bound for the graph edit distance: which fact of one graph becomes which fact of the other?

A mapping of all facts of the smaller graph into the larger one gains 2 for each edge that both then share and loses 1
for each fact that becomes another one (labelled only). Depth first over the facts of the smaller graph, parents before
children; a branch is left as soon as an upper bound on its gain does not beat the best mapping found.

Legend: ``a``, ``b`` nodes of the smaller and the larger graph (the root is node 0 of each), ``r`` rows = nodes of the
smaller graph still to map, ``c`` children = images tried for the next one.
"""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np
from scipy.optimize import linear_sum_assignment  # type: ignore[import-untyped]

from bgr.graph import EvidenceGraph
from bgr.metrics.ged_side import Side

TAKEN = -(10**6)
"""Weight of an image that is used already; far below anything a mapping can lose."""


@dataclass(frozen=True)
class Gain:
    """The best mapping found gains `gain`; none gains more than `bound`. Equal when the search ended by itself."""

    gain: int
    bound: int


def best_gain(first: EvidenceGraph, second: EvidenceGraph, *, labelled: bool, time_limit: float | None) -> Gain:
    """The greatest ``2 * common edges - replaced facts`` over all mappings of the smaller graph into the larger."""
    if len(first.nodes) > len(second.nodes):
        first, second = second, first
    shared = set(first.nodes) & set(second.nodes) if labelled else set()
    search = _Search(Side.of(first, shared), Side.of(second, shared), labelled, time_limit)
    search.expand(search.start(), search.highest)
    return Gain(search.best, max(search.best, search.abandoned))


@dataclass(frozen=True)
class _State:
    """A partial mapping.

    Args:
        images: images of the first nodes of the smaller graph, in order.
        used: bit set of these images.
        gain: what the mapped nodes gain among themselves.
        crossing: ``[r, b]`` edges shared with mapped nodes if row r is mapped to column b.
        out_free, in_free: ``[b]`` edges of the larger graph to and from nodes not yet used.
    """

    images: tuple[int, ...]
    used: int
    gain: int
    crossing: np.ndarray
    out_free: np.ndarray
    in_free: np.ndarray


class _Search:
    def __init__(self, small: Side, large: Side, labelled: bool, time_limit: float | None) -> None:
        self.small, self.large, self.labelled = small, large, labelled
        self.a, self.b = small.edges, large.edges  # [a, a], [b, b]
        self.replaced = np.zeros((len(self.a), len(self.b)), dtype=np.int64)
        if labelled:
            self.replaced[1:, 1:] = small.facts[:, None] != large.facts[None, :]
        self.highest = 2 * int(min(self.a.sum(), self.b.sum()))
        # edges of each node of the smaller graph to and from the nodes after row d, for every d
        self.out_small = np.flip(np.cumsum(np.flip(self.a, 1), 1), 1)
        self.in_small = np.flip(np.cumsum(np.flip(self.a, 0), 0), 0)
        self.best = TAKEN * len(self.a)
        self.abandoned = self.best
        self.deadline = float("inf") if time_limit is None else time.perf_counter() + time_limit

    def start(self) -> _State:
        nothing = np.zeros((len(self.a), len(self.b)), dtype=np.int64)
        return _State((), 0, 0, nothing, self.b.sum(1), self.b.sum(0))

    def expand(self, state: _State, bound: int) -> None:
        """Search everything below `state`, best child first; out of time, note what is left and return."""
        if bound <= self.best:
            return
        if time.perf_counter() > self.deadline and self.best > TAKEN:
            self.abandoned = max(self.abandoned, bound)
            return
        for child_bound, child in self.children(state, bound):
            self.expand(child, child_bound)

    def children(self, state: _State, bound: int) -> list[tuple[int, _State]]:
        """The children that can beat the best mapping, the most promising first. Improves the best on its way."""
        d, tried = len(state.images), self.candidates(state)
        gains = state.gain + 2 * state.crossing[0, tried] - self.replaced[d, tried]  # [c]
        if d + 1 == len(self.a):
            self.best = max(self.best, int(gains.max()))
            return []
        crossing = (  # [c, r, b]: edges to and from the node that is mapped now
            state.crossing[None, 1:]
            + self.a[None, d + 1 :, d, None] * self.b.T[tried][:, None, :]
            + self.a[None, d, d + 1 :, None] * self.b[tried][:, None, :]
        )
        out_free = state.out_free - self.b.T[tried]  # [c, b]
        in_free = state.in_free - self.b[tried]
        weights = self.weights(d + 1, crossing, out_free, in_free)
        weights[:, :, list(state.images)] = TAKEN
        weights[np.arange(len(tried)), :, tried] = TAKEN
        quick = gains + weights.max(2).sum(1)
        kept: list[tuple[int, _State]] = []
        for c in np.argsort(-quick, kind="stable"):
            if min(quick[c], bound) <= self.best:
                break
            rows, columns = linear_sum_assignment(weights[c], maximize=True)
            limit = self.rounded(min(bound, int(gains[c]) + int(weights[c][rows, columns].sum())))
            images = (*state.images, int(tried[c]))
            self.best = max(self.best, self.value((*images, *columns)))
            used = state.used | 1 << images[-1]
            kept.append((limit, _State(images, used, int(gains[c]), crossing[c], out_free[c], in_free[c])))
        return sorted(kept, key=lambda child: -child[0])

    def weights(self, d: int, crossing: np.ndarray, out_free: np.ndarray, in_free: np.ndarray) -> np.ndarray:
        """``[c, r, b]``: the most that mapping row r to column b can add to the gain.

        An edge to a mapped node counts 2. An edge between two open nodes counts 1 at each end, and a node cannot share
        more of them than either side has.
        """
        out_both = np.minimum(self.out_small[d:, d][None, :, None], out_free[:, None, :])
        in_both = np.minimum(self.in_small[d, d:][None, :, None], in_free[:, None, :])
        return 2 * crossing + out_both + in_both - self.replaced[None, d:]

    def rounded(self, bound: int) -> int:
        """Unlabelled gains are even."""
        return bound if self.labelled else bound - bound % 2

    def value(self, images: tuple[int, ...]) -> int:
        """The gain of a whole mapping."""
        f = np.asarray(images)
        return 2 * int((self.a * self.b[f[:, None], f]).sum()) - int(self.replaced[np.arange(len(f)), f].sum())

    def candidates(self, state: _State) -> np.ndarray:
        """Images to try for the next node, leaving out those that a symmetry makes equal to one that is tried.

        Of all mappings that symmetries of the two graphs turn into each other, the one whose list of images is the
        lowest is kept by both rules: (1) of interchangeable nodes of the larger graph, whose subtrees are all still
        free, only the lowest; (2) interchangeable nodes of the smaller graph get rising images.
        """
        d = len(state.images)
        if d == 0:
            return np.array([0])
        before = self.small.twin_before[d]
        lowest = 0 if before is None else state.images[before]
        seen: set[int] = set()
        images = []
        for node in range(1, len(self.b)):
            if state.used >> node & 1:
                continue
            if not self.large.subtree[node] & state.used:
                kind = self.large.kind[node]
                if kind in seen:
                    continue
                seen.add(kind)
            if node > lowest:
                images.append(node)
        return np.array(images, dtype=np.int64)
