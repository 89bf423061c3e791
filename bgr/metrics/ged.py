"""Graph edit distance between two evidence graphs, exact or flagged with its bounds (paper, section 5.3).

Branch and bound for the graph edit distance: which fact of one graph becomes which fact of the other?

A mapping of all facts of the smaller graph into the larger one gains 2 for each edge that both then share and loses 1
for each fact that becomes another one (labelled only). `ged_quick` settles most pairs. What it leaves is searched here
with two bounds: an assignment of the open facts to the free images, each edge between open facts counted by halves, and
the prices of `ged_relax`. The target starts at the least bound known and goes down, depth first over the facts of the
smaller graph, parents before children; a branch is left as soon as a bound is below the target.

Legend: ``a``, ``b`` nodes of the smaller and the larger graph (the root is node 0 of each), ``r`` rows = nodes of the
smaller graph still to map, ``c`` children = images tried for the next one.
"""

from __future__ import annotations

import math
import time
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import networkx as nx
import numpy as np
from scipy.optimize import linear_sum_assignment

from bgr.graph.evidence_graph import Edge, EvidenceGraph
from bgr.metrics.ged_bounds import Kinds, Relaxed, Side, good_order, relax
from bgr.metrics.ged_quick import quick_gain

TAKEN = -(10**6)
"""Weight of an image that is used already; far below anything a mapping can lose."""

FIRST_VISITS = 500
"""Partial mappings that `ged_quick` may look at before a good mapping is sought, which takes longer than these."""

MORE_VISITS = 4000
"""As many as it may look at after that: about as long as the bounds of this module take to set up."""

ROUNDING = 1e-6
"""Bounds of `ged_relax` are sums of fractions."""


class Gain(NamedTuple):
    """The best mapping found gains `gain`; none gains more than `bound`. Equal when the search ended by itself."""

    gain: int
    bound: int


def best_gain(first: Side, second: Side, *, labelled: bool, time_limit: float | None) -> Gain:
    """The greatest ``2 * common edges - replaced facts`` over all mappings of the smaller graph into the larger."""
    start = time.perf_counter()
    small, large = first, second
    # of graphs with as many facts that with fewer edges: `ged_relax` is exact where it is a tree
    if (len(small.facts), small.edges) > (len(large.facts), large.edges):
        small, large = large, small
    quick = quick_gain(small, large, labelled=labelled, visits=FIRST_VISITS)
    if quick.reached:
        return Gain(quick.bound, quick.bound)
    deadline = math.inf if time_limit is None else start + time_limit
    search = _Search(small, large, labelled, deadline)
    if search.best < quick.bound and time.perf_counter() < deadline:
        quick = quick_gain(small, large, labelled=labelled, visits=MORE_VISITS, highest=quick.bound, known=search.best)
    if quick.reached or search.best == quick.bound:
        return Gain(quick.bound, quick.bound)
    return search.run(quick.bound)


@dataclass(frozen=True)
class _State:
    """A partial mapping.

    Args:
        images: images of the first nodes of the smaller graph, in order.
        used: bit set of these images.
        gain: what the mapped nodes gain among themselves.
        relaxed: bound of `ged_relax` on the gain of any mapping that goes on from here, its slack left in.
        crossing: ``[r, b]`` edges shared with mapped nodes if row r is mapped to column b.
        out_free, in_free: ``[b]`` edges of the larger graph to and from nodes not yet used.
    """

    images: tuple[int, ...]
    used: int
    gain: int
    relaxed: float
    crossing: np.ndarray
    out_free: np.ndarray
    in_free: np.ndarray


class _OutOfTimeError(Exception):
    pass


class _Search:
    def __init__(self, small: Side, large: Side, labelled: bool, deadline: float) -> None:
        self.sides, self.labelled, self.deadline = (small, large), labelled, deadline
        self.a, self.b = small.matrix(), large.matrix()  # [a, a], [b, b]
        self.replaced = np.zeros((len(self.a), len(self.b)), dtype=np.int64)
        if labelled:
            self.replaced[1:, 1:] = np.array(small.facts[1:])[:, None] != np.array(large.facts[1:])
        shared = set(small.facts) & set(large.facts) if labelled else set()
        self.small, self.large = Kinds.of(small, shared), Kinds.of(large, shared)
        # edges of each node of the smaller graph to and from the nodes after row d, for every d
        self.out_small = np.flip(np.cumsum(np.flip(self.a, 1), 1), 1)
        self.in_small = np.flip(np.cumsum(np.flip(self.a, 0), 0), 0)
        self.best = good_order(self.a, self.b, self.replaced, deadline)[1]
        self.target = self.next_target = self.best

    @cached_property
    def prices(self) -> Relaxed:
        return relax(*self.sides, self.replaced, self.best, self.deadline)

    def run(self, highest: int) -> Gain:
        """Lower the target from `highest`, or from a bound below that, until a mapping reaches it."""
        self.target = min(highest, self.rounded(self.prices.bound))
        while self.best < self.target:
            self.next_target = self.best
            try:
                self.expand(self.start())
            except _OutOfTimeError:
                return Gain(self.best, max(self.best, self.target))
            self.target = max(self.best, self.next_target)
        return Gain(self.best, self.best)

    def start(self) -> _State:
        nothing = np.zeros((len(self.a), len(self.b)), dtype=np.int64)
        return _State((), 0, 0, self.prices.start, nothing, self.b.sum(1), self.b.sum(0))

    def expand(self, state: _State) -> None:
        """Search everything below `state` that may reach the target, best child first, until something does."""
        for child in self.children(state):
            if self.best >= self.target:
                return
            self.expand(child)

    def worth(self, bound: int) -> bool:
        """Whether a branch may reach the target; if not, its bound may be the next target."""
        if bound < self.target:
            self.next_target = max(self.next_target, bound)
        return bound >= self.target

    def children(self, state: _State) -> list[_State]:
        """The children that may reach the target, the most promising first. Improves the best on its way."""
        if time.perf_counter() > self.deadline:
            raise _OutOfTimeError
        d, tried = len(state.images), self.candidates(state)
        gains = state.gain + 2 * state.crossing[0, tried] - self.replaced[d, tried]  # [c]
        if d + 1 == len(self.a):
            self.best = int(gains.max(initial=self.best))
            return []
        relaxed = self.relaxed(state, tried)  # [c]
        limits = [self.rounded(bound) for bound in relaxed - self.prices.slack[d, tried]]
        promising = [c for c, limit in enumerate(limits) if self.worth(limit)]
        tried, gains, relaxed = tried[promising], gains[promising], relaxed[promising]
        limits = [limits[c] for c in promising]
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
            if not self.worth(min(limits[c], self.rounded(quick[c]))):
                continue
            rows, columns = linear_sum_assignment(weights[c], maximize=True)
            limit = min(limits[c], self.rounded(int(gains[c]) + int(weights[c][rows, columns].sum())))
            images = (*state.images, int(tried[c]))
            self.best = max(self.best, self.value((*images, *columns)))
            if self.worth(limit):
                used = state.used | 1 << images[-1]
                state_c = (int(gains[c]), float(relaxed[c]), crossing[c], out_free[c], in_free[c])
                kept.append((limit, _State(images, used, *state_c)))
        return [child for _, child in sorted(kept, key=lambda pair: -pair[0])]

    def relaxed(self, state: _State, tried: np.ndarray) -> np.ndarray:
        """``[c]``: `_State.relaxed` of the children."""
        d = len(state.images)
        if d == 0:
            return np.array([state.relaxed])
        left = state.relaxed - self.prices.with_parent[d, state.images[self.prices.parent[d]]]
        return left + self.prices.alone[d, tried] + 2 * state.crossing[0, tried]

    def weights(self, d: int, crossing: np.ndarray, out_free: np.ndarray, in_free: np.ndarray) -> np.ndarray:
        """``[c, r, b]``: the most that mapping row r to column b can add to the gain.

        An edge to a mapped node counts 2. An edge between two open nodes counts 1 at each end, and a node cannot share
        more of them than either side has.
        """
        out_both = np.minimum(self.out_small[d:, d][None, :, None], out_free[:, None, :])
        in_both = np.minimum(self.in_small[d, d:][None, :, None], in_free[:, None, :])
        return 2 * crossing + out_both + in_both - self.replaced[None, d:]

    def rounded(self, bound: float) -> int:
        """Gains are whole, unlabelled ones even."""
        whole = math.floor(bound + ROUNDING)
        return whole if self.labelled else whole - whole % 2

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


RELEASED_SECONDS = 0.8
"""Where the authors' code cuts the search off."""


@dataclass(frozen=True)
class GedResult:
    """The distance lies in ``lower … upper``; `exact` says that the two are one proven value."""

    lower: int
    upper: int
    exact: bool


def graph_edit_distance(
    predicted: EvidenceGraph, gold: EvidenceGraph, *, labelled: bool = False, time_limit: float | None = 1.0
) -> GedResult:
    """The fewest insertions and deletions of facts and edges that turn one graph into the other. Lower is better.

    Every operation costs 1; ``Q`` maps to ``Q``. By default it does not matter which fact stands where (the paper's
    use); with `labelled`, replacing one fact by another costs 1 too. Symmetric; 0 exactly when `graph_structure_match`
    (labelled: `graph_match`) holds. An empty graph is as far from another as that one has facts and edges.

    Swapping a fact for a fact never costs more than deleting one and inserting the other (0 or 1 against 2, and the
    edges can only gain), so the cheapest edit maps all facts of the smaller graph, and

        GED = difference in facts + edges of both - gain,   gain = 2 * edges in common - facts replaced by another.

    `ged_quick` and `ged_search` find the mapping with the greatest gain.

    Args:
        time_limit: seconds of search; None for no limit. When it ends first, the result holds the best edit found
            (`upper`), the proven bound (`lower`) and ``exact=False``. What comes before the search, a few milliseconds
            for 24 facts, is not cut short.
    """
    if predicted.edges == gold.edges:
        return GedResult(0, 0, True)
    in_place = _everything_in_place(predicted.edges, gold.edges, labelled=labelled)
    if in_place is not None:
        return GedResult(in_place, in_place, True)
    first, second = Side.of(predicted.edges), Side.of(gold.edges)
    base = abs(len(first.facts) - len(second.facts)) + first.edges + second.edges
    found = best_gain(first, second, labelled=labelled, time_limit=time_limit)
    return GedResult(base - found.bound, base - found.gain, found.bound == found.gain)


def _everything_in_place(one: frozenset[Edge], two: frozenset[Edge], *, labelled: bool) -> int | None:
    """The distance where no mapping beats the one that leaves every fact where it is; None where that is not plain.

    The other edges must be inserted or deleted whatever is mapped: so it is where all edges of the graph that has fewer
    are in the other. Labelled, with the same facts on both sides, any other mapping replaces two of them, as much as
    one edge that is not shared costs.
    """
    facts = {b for _, b in one}, {b for _, b in two}
    missing = abs(len(facts[0]) - len(facts[1]))
    least = abs(len(one) - len(two))
    apart = len(one) + len(two) - 2 * len(one & two)
    if apart > least + (2 if labelled and not missing else 0):
        return None
    return missing + apart if facts[0] <= facts[1] or facts[1] <= facts[0] else None


def released_graph_edit_distance(predicted: EvidenceGraph, gold: EvidenceGraph) -> float:
    """The number that the authors' released code reports, for comparison only.

    Unlabelled, ``Q`` may map to any fact, and networkx's search stops after 0.8 s with the best edit so far, so the
    value can be too high and can differ between machines.
    """
    first, second = predicted.to_networkx(), gold.to_networkx()
    distance = nx.graph_edit_distance(first, second, timeout=RELEASED_SECONDS)
    if distance is None:  # not one edit in time: take everything away and build anew, Q kept
        return float(len(predicted.nodes) + len(gold.nodes) + len(predicted.edges) + len(gold.edges))
    return float(distance)
