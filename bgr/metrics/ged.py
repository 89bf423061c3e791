"""Graph edit distance between two evidence graphs, exact or with bounds and a flag (paper, section 5.3).

The search is our own because networkx's takes about 100 times as long: in the median 107 times for random pairs of
everyday size, 82 times labeled (`bgr bench ged`, docs/speed.md). All distances equal networkx's.

A mapping sends every fact of the smaller graph to a fact of the larger one. It gains 2 for each edge that both graphs
then share and loses 1 for each fact that is replaced by another one (labeled only). `ged_quick` solves most pairs. The
branch and bound in this module solves the rest with two upper bounds: an assignment of the unmapped facts to the free
images, in which each edge between unmapped facts counts half at either end, and the Lagrangian relaxation of
`ged_bounds`. The target starts at the lowest upper bound and is lowered until a mapping reaches it. Each pass is a
depth-first search over the facts of the smaller graph, parents before children, that prunes bounds below the target.

Legend: ``a``, ``b`` nodes of the smaller and the larger graph (the root is node 0 of each), ``r`` rows = nodes of the
smaller graph still to map, ``c`` children = images tried for the next one.
"""

from __future__ import annotations

import math
import time
from dataclasses import dataclass
from functools import cached_property

import networkx as nx
import numpy as np
from scipy.optimize import linear_sum_assignment

from bgr.graph.evidence_graph import Edge, EvidenceGraph
from bgr.metrics.ged_bounds import Kinds, Relaxed, Side, good_order, relax
from bgr.metrics.ged_quick import quick_gain

TAKEN = -(10**6)
"""Weight of an image that is already used; far below any loss of a mapping."""

FIRST_VISITS = 500
"""Limit on the partial mappings that `ged_quick` visits before `good_order`, which takes longer, runs."""

MORE_VISITS = 4000
"""The same limit after `good_order`; as many take about as long as setting up the bounds of this module."""

ROUNDING = 1e-6
"""Tolerance for the bounds of `relax`, which are sums of floats."""


def best_gain(first: Side, second: Side, *, labeled: bool, time_limit: float) -> tuple[int, int]:
    """Maximize ``2 * common edges - replaced facts`` over all mappings of the smaller graph into the larger one.

    Returns:
        The gain of the best mapping found, and a proven upper bound; they are equal if the search was completed.
    """
    deadline = time.perf_counter() + time_limit
    small, large = first, second
    # with equally many facts, the one with fewer edges: `relax` is exact if it is a tree
    if (len(small.facts), small.edges) > (len(large.facts), large.edges):
        small, large = large, small
    quick = quick_gain(small, large, labeled=labeled, visits=FIRST_VISITS)
    if quick.reached:
        return quick.bound, quick.bound
    search = _Search(small, large, labeled, deadline)
    if search.best < quick.bound and time.perf_counter() < deadline:
        quick = quick_gain(small, large, labeled=labeled, visits=MORE_VISITS, highest=quick.bound, known=search.best)
    if quick.reached or search.best == quick.bound:
        return quick.bound, quick.bound
    return search.run(quick.bound)


@dataclass(frozen=True)
class _State:
    """A partial mapping: the images of the first nodes of the smaller graph in order, also as a bit set (`used`), and
    their gain among themselves. `relaxed` is the bound of `relax` on the gain of any extension, before its slack is
    subtracted; `crossing` ``[r, b]`` counts edges shared with mapped nodes if row r is mapped to column b, and
    `out_free` and `in_free` ``[b]`` edges of the larger graph to and from unused nodes."""

    images: tuple[int, ...]
    used: int
    gain: int
    relaxed: float
    crossing: np.ndarray
    out_free: np.ndarray
    in_free: np.ndarray


class _OutOfTimeError(Exception):
    """The search has reached its deadline."""


class _Search:
    def __init__(self, small: Side, large: Side, labeled: bool, deadline: float) -> None:
        self.sides, self.labeled, self.deadline = (small, large), labeled, deadline
        self.a, self.b = small.matrix(), large.matrix()  # [a, a], [b, b]
        self.replaced = np.zeros((len(self.a), len(self.b)), dtype=np.int64)
        if labeled:
            self.replaced[1:, 1:] = np.array(small.facts[1:])[:, None] != np.array(large.facts[1:])
        shared = set(small.facts) & set(large.facts) if labeled else set()
        self.small, self.large = Kinds.of(small, shared), Kinds.of(large, shared)
        # edges of each node of the smaller graph to and from the nodes after row d, for every d
        self.out_small = np.flip(np.cumsum(np.flip(self.a, 1), 1), 1)
        self.in_small = np.flip(np.cumsum(np.flip(self.a, 0), 0), 0)
        self.best = good_order(self.a, self.b, self.replaced, deadline)[1]
        self.target = self.next_target = self.best

    @cached_property
    def prices(self) -> Relaxed:
        return relax(*self.sides, self.replaced, self.best, self.deadline)

    def run(self, highest: int) -> tuple[int, int]:
        """Lower the target, from `highest` or a bound below it, until a mapping reaches it."""
        self.target = min(highest, self.rounded(self.prices.bound))
        while self.best < self.target:
            self.next_target = self.best
            try:
                nothing = np.zeros_like(self.replaced)
                self.expand(_State((), 0, 0, self.prices.start, nothing, self.b.sum(1), self.b.sum(0)))
            except _OutOfTimeError:
                return self.best, max(self.best, self.target)
            self.target = max(self.best, self.next_target)
        return self.best, self.best

    def expand(self, state: _State) -> None:
        """Search below `state`, best child first, until a mapping reaches the target."""
        for child in self.children(state):
            if self.best >= self.target:
                return
            self.expand(child)

    def worth(self, bound: int) -> bool:
        """Return true if a branch may reach the target; otherwise its bound may become the next target."""
        if bound < self.target:
            self.next_target = max(self.next_target, bound)
        return bound >= self.target

    def children(self, state: _State) -> list[_State]:
        """The children that may reach the target, the highest bound first. May also improve `best`."""
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
        crossing = (  # [c, r, b]: edges to and from the node being mapped
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
        """``[c, r, b]``: upper bound on what mapping row r to column b adds to the gain.

        An edge to a mapped node counts 2. An edge between two unmapped nodes counts 1 at each end, and a node cannot
        share more of them than either side has.
        """
        out_both = np.minimum(self.out_small[d:, d][None, :, None], out_free[:, None, :])
        in_both = np.minimum(self.in_small[d, d:][None, :, None], in_free[:, None, :])
        return 2 * crossing + out_both + in_both - self.replaced[None, d:]

    def rounded(self, bound: float) -> int:
        """Round a bound down: gains are integers, and even ones in the unlabeled case."""
        whole = math.floor(bound + ROUNDING)
        return whole if self.labeled else whole - whole % 2

    def value(self, images: tuple[int, ...]) -> int:
        """The gain of a complete mapping."""
        f = np.asarray(images)
        return 2 * int((self.a * self.b[f[:, None], f]).sum()) - int(self.replaced[np.arange(len(f)), f].sum())

    def candidates(self, state: _State) -> np.ndarray:
        """Images to try for the next node: one mapping of each class of symmetric ones, that with the lexicographically
        lowest images. (1) Of interchangeable nodes of the larger graph whose subtrees are free, only the lowest is
        tried. (2) Interchangeable nodes of the smaller graph get images in rising order."""
        d = len(state.images)
        if d == 0:
            return np.array([0])
        lowest = state.images[self.small.twin_before[d]]
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
"""Time limit of the authors' code."""


@dataclass(frozen=True)
class GedResult:
    """The distance lies in ``lower … upper``; with `exact` the two are equal and proven."""

    lower: int
    upper: int
    exact: bool


def graph_edit_distance(
    predicted: EvidenceGraph, gold: EvidenceGraph, *, labeled: bool = False, time_limit: float | None = 1.0
) -> GedResult:
    """The fewest insertions and deletions of facts and edges that turn one graph into the other. Lower is better.

    Every operation costs 1, and ``Q`` maps to ``Q``. By default the facts' identity does not count (as in the paper);
    with `labeled`, replacing one fact by another costs 1 too. The distance is symmetric, and 0 exactly if
    `graph_structure_match` (labeled: `graph_match`) holds. Its value for an empty graph and another one is the number
    of facts and edges of the other.

    Replacing a fact never costs more than deleting it and inserting another one (0 or 1 against 2, and edges can only
    be kept), so a cheapest edit maps all facts of the smaller graph, and

        GED = difference in facts + edges of both - gain,   gain = 2 * edges in common - facts replaced by another.

    `best_gain` finds the mapping with the greatest gain.

    Args:
        time_limit: seconds of search; ``None`` for no limit. If it is exceeded, the result holds the best edit found
            (`upper`), the proven bound (`lower`) and ``exact=False``. The setup before the search, a few milliseconds
            for 24 facts, is not interrupted.
    """
    if predicted.edges == gold.edges:
        return GedResult(0, 0, True)
    identity = _identity_distance(predicted.edges, gold.edges, labeled=labeled)
    if identity is not None:
        return GedResult(identity, identity, True)
    first, second = Side.of(predicted.edges), Side.of(gold.edges)
    base = abs(len(first.facts) - len(second.facts)) + first.edges + second.edges
    limit = math.inf if time_limit is None else time_limit
    gain, bound = best_gain(first, second, labeled=labeled, time_limit=limit)
    return GedResult(base - bound, base - gain, gain == bound)


def _identity_distance(one: frozenset[Edge], two: frozenset[Edge], *, labeled: bool) -> int | None:
    """The distance if the identity mapping is easily seen to be optimal, else ``None``.

    The identity is optimal if one graph contains all edges of the other, since the remaining edges must be inserted or
    deleted under any mapping. In the labeled case with equal facts on both sides, any other mapping replaces at least
    two facts, which costs as much as one edge that is not shared.
    """
    facts = {b for _, b in one}, {b for _, b in two}
    missing = abs(len(facts[0]) - len(facts[1]))
    least = abs(len(one) - len(two))
    apart = len(one) + len(two) - 2 * len(one & two)
    if apart > least + (2 if labeled and not missing else 0):
        return None
    return missing + apart if facts[0] <= facts[1] or facts[1] <= facts[0] else None


def released_graph_edit_distance(predicted: EvidenceGraph, gold: EvidenceGraph) -> float:
    """The value that the authors' released code reports, for comparison only.

    It is unlabeled and ``Q`` may map to any fact. networkx's search stops after 0.8 s with the best edit found, so the
    value can be too high and can differ between machines.
    """
    first, second = predicted.to_networkx(), gold.to_networkx()
    distance = nx.graph_edit_distance(first, second, timeout=RELEASED_SECONDS)
    if distance is None:  # no edit in time: delete and insert everything except Q
        return float(len(predicted.nodes) + len(gold.nodes) + len(predicted.edges) + len(gold.edges))
    return float(distance)
