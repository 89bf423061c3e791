"""Algorithms on sets of edges: cycles, single-edit neighbors, the most probable DAG.

`best_dag` is a branch-and-bound search. With the log-odds of independent edges as weights, the total weight is the
log-probability up to a constant, and the best graph without constraints has all edges of weight 0 and above. If it
violates a constraint, each way to repair it becomes a subproblem in which some edges are required and others forbidden.
The subproblem with the highest bound is searched first.
"""

from __future__ import annotations

import heapq
import itertools
import math
from collections.abc import Iterable, Iterator, Mapping

import networkx as nx

from bgr.graph.evidence_graph import ROOT, Edge, EvidenceGraph

Edges = frozenset[Edge]


def tidy(edges: Iterable[Edge]) -> Edges | None:
    """Remove facts that the question does not reach and edges that shortcut a longer path between the same two facts.

    Returns ``None`` if the edges contain a cycle.
    """
    after: dict[int, list[int]] = {}
    for a, b in edges:
        after.setdefault(a, []).append(b)
    below = _descendants(after)
    if below is None:
        return None
    reachable = below.get(ROOT, set()) | {ROOT}
    return frozenset(
        (a, b)
        for a, targets in after.items()
        if a in reachable
        for b in targets
        if not any(b in below.get(c, ()) for c in targets)
    )


def _descendants(after: dict[int, list[int]]) -> dict[int, set[int]] | None:
    """Descendants of each node that has any; ``None`` if a node is its own descendant."""
    below: dict[int, set[int]] = {}
    waiting: dict[int, int] = {}
    before: dict[int, list[int]] = {}
    for a, targets in after.items():
        waiting[a] = len(targets)
        for b in targets:
            before.setdefault(b, []).append(a)
    ready = [node for node in before if node not in after]
    done = 0
    while ready:
        node = ready.pop()
        done += node in after
        for a in before.get(node, ()):
            below.setdefault(a, set()).update(below.get(node, ()), (node,))
            waiting[a] -= 1
            if not waiting[a]:
                ready.append(a)
    return below if done == len(after) else None


def changes(edges: Edges, addable: Iterable[Edge]) -> Iterator[Edges]:
    """Yield all edge sets that one change makes of `edges`, each after `tidy`.

    A change removes an edge, removes a fact and joins its predecessors to its successors, adds an edge of `addable`
    that starts in the graph, or lets such an edge replace one with the same source or target. Empty sets and `edges`
    itself are skipped. A set may be yielded more than once.
    """
    tidied = map(tidy, _untidied(edges, addable))
    yield from (found for found in tidied if found and found != edges)


def _untidied(edges: Edges, addable: Iterable[Edge]) -> Iterator[Edges]:
    order = sorted(edges)
    for edge in order:
        yield edges - {edge}
    nodes = {b for _, b in order}
    for node in sorted(nodes):
        sources, targets = [a for a, b in order if b == node], [b for a, b in order if a == node]
        if targets:
            kept = frozenset(edge for edge in order if node not in edge)
            yield kept | {(a, b) for a in sources for b in targets}
    for new in addable:
        a, b = new
        if new in edges or (a != ROOT and a not in nodes):
            continue
        yield edges | {new}
        for old in order:
            if old[0] == a or old[1] == b:
                yield (edges - {old}) | {new}


MAX_PROBLEMS = 1_000
"""Subproblems that one search opens before it gives up."""

Problem = tuple[frozenset[Edge], frozenset[Edge]]
"""Edges that must be in the graph, and edges that must not."""


def best_dag(weights: Mapping[Edge, float], *, max_problems: int = MAX_PROBLEMS) -> Edges | None:
    """Find the edges of greatest total weight that form a DAG in which every fact is reachable from the question.

    The DAG has at least one edge from the question; the result is empty if there is no such edge. An edge of negative
    weight is used only if it enables others that outweigh it, or as the only edge from the question.

    If the search exceeds `max_problems` subproblems, the result is ``None``.
    """
    order = sorted(weights, key=lambda edge: (-weights[edge], edge))
    waiting = [(0.0, 0, (frozenset[Edge](), frozenset[Edge]()))]
    opened = 0
    while waiting:
        problem = heapq.heappop(waiting)[2]
        forced, forbidden = problem
        chosen = [edge for edge in order if edge in forced or (weights[edge] >= 0 and edge not in forbidden)]
        ways = _mend(chosen, problem, order)
        if ways is None:
            return frozenset(chosen)
        for way in ways:
            opened += 1
            if opened > max_problems:
                return None
            bound = sum(w for edge, w in weights.items() if edge in way[0] or (w >= 0 and edge not in way[1]))
            heapq.heappush(waiting, (-bound, opened, way))
    return frozenset()


def _mend(chosen: list[Edge], problem: Problem, order: list[Edge]) -> Iterable[Problem] | None:
    """Subproblems that replace a problem whose best edges violate a constraint; ``None`` if they violate none.

    No two of them allow the same graph, and together they allow every graph that the problem allows.
    """
    forced, forbidden = problem
    if not any(a == ROOT for a, _ in chosen):
        return _one_of([edge for edge in order if edge[0] == ROOT], problem)
    reached = {b for _, b in chosen}
    lost = min((a for a, _ in chosen if a != ROOT and a not in reached), default=None)
    if lost is not None:
        touching = {edge for edge in order if lost in edge}
        without = [] if touching & forced else [(forced, forbidden | touching)]
        return [*_one_of([edge for edge in order if edge[1] == lost], problem), *without]
    # every fact now has an incoming edge, so without a cycle each path backward ends at the question
    cycle = find_cycle(chosen)
    if cycle is None:
        return None
    free = [edge for edge in cycle if edge not in forced]  # one subproblem for each that is the first one absent
    return [(forced | set(free[:i]), forbidden | {edge}) for i, edge in enumerate(free)]


def _one_of(edges: list[Edge], problem: Problem) -> Iterator[Problem]:
    """Require at least one of the edges: one subproblem for each edge that is the first one present."""
    forced, forbidden = problem
    for i, edge in enumerate(edges):
        if edge not in forbidden:
            yield forced | {edge}, forbidden | set(edges[:i])


def find_cycle(edges: Iterable[Edge]) -> list[Edge] | None:
    """The edges of one cycle, or ``None``. Facts without predecessors are removed until only cycles are left."""
    before: dict[int, list[int]] = {}
    for a, b in edges:
        before.setdefault(b, []).append(a)
    while loose := [node for node, sources in before.items() if not any(a in before for a in sources)]:
        for node in loose:
            del before[node]
    if not before:
        return None
    # walk backward until a fact repeats
    first_visit: dict[int, int] = {}
    walk = [next(iter(before))]
    while walk[-1] not in first_visit:
        first_visit[walk[-1]] = len(walk) - 1
        walk.append(next(a for a in before[walk[-1]] if a in before))
    round_trip = walk[first_visit[walk[-1]] :]
    return [(a, b) for b, a in itertools.pairwise(round_trip)]


def graph_of(odds: Mapping[Edge, float]) -> tuple[EvidenceGraph, list[Edge]]:
    """Build the graph of all edges with log-odds of 0 and above that the question reaches.

    An edge's score is its probability, ½ at the threshold. The second value lists the edges left out to keep the graph
    acyclic.
    """
    probabilities = {edge: 1 / (1 + math.exp(-score)) for edge, score in odds.items() if score >= 0}
    kept, dropped = acyclic(probabilities)
    return EvidenceGraph.reachable(kept, probabilities), dropped


def acyclic(edges: Mapping[Edge, float]) -> tuple[list[Edge], list[Edge]]:
    """Split scored edges into a DAG and the edges left out of it: by falling score, ties by number, each edge that
    would close a cycle."""
    graph: nx.DiGraph = nx.DiGraph()
    kept: list[Edge] = []
    dropped: list[Edge] = []
    for edge in sorted(edges, key=lambda e: (-edges[e], e)):
        a, b = edge
        if b in graph and a in graph and nx.has_path(graph, b, a):
            dropped.append(edge)
        else:
            graph.add_edge(a, b)
            kept.append(edge)
    return kept, dropped
