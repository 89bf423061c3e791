"""`fused`: the most probable evidence graph given both directions.

The first graph is the DAG with the greatest sum of both directions' calibrated log-odds of edges (`best_dag`, exact).
The path model of each direction also gives a probability to a whole graph (`log_likelihood`), which includes where
paths end. From the first graph, and from each direction's own, a local search goes to the best graph one change away
(`changes`) until none is better.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from bgr.graph.dag import Edges, best_dag, changes, graph_of, tidy
from bgr.graph.evidence_graph import Edge, EvidenceGraph
from bgr.retrievers.graph_hop.likelihood import DirectionResult, log_likelihood

UNSEEN = -4.0
"""Log-odds of an edge that a direction did not score, without calibration."""

DOUBT = -3.0
"""Edges with lower log-odds are not tried as a change."""

MAX_EDGES, MAX_GRAPHS = 50, 500
"""Maximum edges of a graph that is changed, and graphs that are compared for one question (usually 3 and 30)."""

LIMIT = "fusion"
"""Name of the limit of a search that was cut short."""


@dataclass(frozen=True)
class Calibration:
    """Platt scaling of one direction's odds of an edge (see `DirectionResult`) to log-odds that the edge is gold.

    Args:
        slope, offset: coefficients of ``slope · odds + offset``.
        unseen: log-odds of an edge that only the other direction scored.
    """

    slope: float = 1.0
    offset: float = 0.0
    unseen: float = UNSEEN

    def log_odds(self, odds: float | None) -> float:
        """Calibrated log-odds; `odds` is ``None`` for an edge that was not scored."""
        return self.unseen if odds is None else self.slope * odds + self.offset


@dataclass(frozen=True)
class Fusion:
    """Parameters of `fused` besides γ; all of them are chosen on dev.

    Args:
        forward, backward: calibration of each direction's edges.
        threshold: log-odds that an edge needs. Negative numbers favor larger graphs: the most probable graph is smaller
            than the one that agrees best with gold, as the mode of a distribution is not its mean.
    """

    forward: Calibration = Calibration()
    backward: Calibration = Calibration()
    threshold: float = 0.0

    def weights(self, forward: Mapping[Edge, float], backward: Mapping[Edge, float], gamma: float) -> dict[Edge, float]:
        """Calibrated log-odds of every edge that either direction scored; γ is the weight of the backward ones."""
        return {
            edge: (1 - gamma) * self.forward.log_odds(forward.get(edge))
            + gamma * self.backward.log_odds(backward.get(edge))
            for edge in sorted(forward.keys() | backward.keys())
        }


def fused(
    forward: DirectionResult, backward: DirectionResult, gamma: float, fusion: Fusion
) -> tuple[EvidenceGraph, bool]:
    """The most probable graph, and whether the search was complete (else see `LIMIT`).

    An edge parallel to a longer path between the same facts is left out: a step of reasoning starts from the latest
    facts, and hardly any gold graph (1 in 180 of Atlas) has such a shortcut, while a path-wise model often scores a
    fact's grandchild as high as its child.
    """
    odds = fusion.weights(forward.odds, backward.odds, gamma)
    start, whole = _of_single_edges({edge: value - fusion.threshold for edge, value in odds.items()})
    if start and forward.steps and backward.steps:
        found = _Search(forward, backward, gamma, fusion.threshold, odds)
        starts = [start, *(tidy(result.graph.edges) or start for result in (forward, backward))]
        start = max((found.climb(edges) for edges in starts), key=lambda edges: (found.score(edges), sorted(edges)))
        whole = whole and found.whole
    unseen = (1 - gamma) * fusion.forward.unseen + gamma * fusion.backward.unseen
    chances = {edge: 1 / (1 + math.exp(-odds.get(edge, unseen))) for edge in start}
    return EvidenceGraph(start, chances), whole


def _of_single_edges(weights: Mapping[Edge, float]) -> tuple[Edges, bool]:
    """The best DAG without shortcuts, and true; or the greedy one, and false, if the exact search takes too long."""
    best = best_dag(weights)
    edges = graph_of(weights)[0].edges if best is None else best
    return tidy(edges) or frozenset(), best is not None


class _Search:
    """Comparison of graphs for one question. `whole` becomes false if a search is cut short."""

    def __init__(
        self,
        forward: DirectionResult,
        backward: DirectionResult,
        gamma: float,
        threshold: float,
        odds: Mapping[Edge, float],
    ) -> None:
        self.forward, self.backward = forward, backward
        self.gamma, self.threshold = gamma, threshold
        self.addable = [edge for edge in sorted(odds, key=lambda e: (-odds[e], e)) if odds[edge] > DOUBT]
        self.scores: dict[Edges, float] = {}
        self.whole = True

    def score(self, edges: Edges) -> float:
        """Log-probability by both directions, γ the weight of the backward one, minus the threshold for each fact."""
        if edges not in self.scores:
            one = _likelihood(edges, self.forward, forward=True)
            two = _likelihood(edges, self.backward, forward=False)
            facts = len({b for _, b in edges})
            self.scores[edges] = (1 - self.gamma) * one + self.gamma * two - self.threshold * facts
        return self.scores[edges]

    def climb(self, edges: Edges) -> Edges:
        """Make the best change until none is better."""
        while True:
            if len(edges) > MAX_EDGES:
                self.whole = False
                return edges
            best = edges
            for other in changes(edges, self.addable):
                if len(self.scores) >= MAX_GRAPHS and other not in self.scores:
                    self.whole = False
                    return best
                if self.score(other) > self.score(best):
                    best = other
            if best == edges:
                return edges
            edges = best


def _likelihood(edges: Edges, result: DirectionResult, *, forward: bool) -> float:
    known = result.likelihoods.get(edges)
    if known is None:
        known = result.likelihoods[edges] = log_likelihood(edges, result.steps, forward=forward)
    return known
