"""Algorithms on the edges of an evidence graph: orders, cycles, what lies one change away, the most probable DAG.

`best_dag` is branch and bound. With the log-odds of independent edges as weights, a graph's total weight is its
log-probability up to a constant. Without the constraints the best graph is made of all edges of 0 and above. Where that
breaks one, every way to mend it becomes a problem of its own, with some edges forced and some forbidden; the most
promising first.
"""

from __future__ import annotations

import heapq
import itertools
import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

import networkx as nx

from bgr.graph.evidence_graph import ROOT, Edge, EvidenceGraph

Edges = frozenset[Edge]


def tidy(edges: Iterable[Edge]) -> Edges | None:
    """Without the facts that do not hang from the question, and without edges beside a longer path between the same
    facts (shortcuts). ``None`` where the edges close a cycle."""
    after: dict[int, list[int]] = {}
    for a, b in edges:
        after.setdefault(a, []).append(b)
    below = _descendants(after)
    if below is None:
        return None
    hung = below.get(ROOT, set()) | {ROOT}
    return frozenset(
        (a, b)
        for a, targets in after.items()
        if a in hung
        for b in targets
        if not any(b in below.get(c, ()) for c in targets)
    )


def _descendants(after: dict[int, list[int]]) -> dict[int, set[int]] | None:
    """All facts below each fact that has one; ``None`` where a fact is below itself."""
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
    """What lies one change away, tidied: an edge taken away, a fact taken out with the edges around it joined, and for
    each edge of `addable` that starts in the graph: added, or put in place of one with the same source or target.

    Empty sets, and the set itself, are left out; the same set may come more than once.
    """
    for other in _untidied(edges, addable):
        found = tidy(other)
        if found and found != edges:
            yield found


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


MOST_PROBLEMS = 1_000
"""Problems that one search opens before it gives up."""

Problem = tuple[frozenset[Edge], frozenset[Edge]]
"""Edges that must be in the graph, and those that must not."""


@dataclass(frozen=True)
class BestDag:
    """The edges found; `exact` says that no allowed set of edges has a greater total weight."""

    edges: frozenset[Edge]
    exact: bool


def best_dag(weights: Mapping[Edge, float], *, most_problems: int = MOST_PROBLEMS) -> BestDag:
    """The edges of greatest total weight that form a DAG with at least one edge from the question, in which every fact
    hangs from the question. Empty where no edge leads from the question.

    An edge below 0 is taken only where it carries others that outweigh it, or as the one edge from the question.

    Args:
        weights: of every edge that may be used.
        most_problems: where the search opens more than that, the answer is not exact and empty: the caller decides
            what is next best.
    """
    order = sorted(weights, key=lambda edge: (-weights[edge], edge))
    waiting = [(0.0, 0, (frozenset[Edge](), frozenset[Edge]()))]
    opened = 0
    while waiting:
        _, _, problem = heapq.heappop(waiting)
        forced, forbidden = problem
        chosen = [edge for edge in order if edge in forced or (weights[edge] >= 0 and edge not in forbidden)]
        ways = _mend(chosen, problem, order)
        if ways is None:
            return BestDag(frozenset(chosen), True)
        for way in ways:
            opened += 1
            if opened > most_problems:
                return BestDag(frozenset(), False)
            bound = sum(w for edge, w in weights.items() if edge in way[0] or (w >= 0 and edge not in way[1]))
            heapq.heappush(waiting, (-bound, opened, way))
    return BestDag(frozenset(), True)


def _mend(chosen: list[Edge], problem: Problem, order: list[Edge]) -> Iterable[Problem] | None:
    """What to try instead of a set of edges that breaks a constraint; ``None`` where it breaks none.

    No two of the ways allow the same graph, and together they allow all that the problem does.
    """
    if not any(a == ROOT for a, _ in chosen):
        return _one_of([edge for edge in order if edge[0] == ROOT], problem)
    reached = {b for _, b in chosen}
    lost = min((a for a, _ in chosen if a != ROOT and a not in reached), default=None)
    if lost is not None:
        return [*_one_of([edge for edge in order if edge[1] == lost], problem), *_without(lost, problem, order)]
    # now every fact has an edge into it, so that without a cycle each way back ends at the question
    cycle = find_cycle(chosen)
    return None if cycle is None else _break(cycle, problem)


def _one_of(edges: list[Edge], problem: Problem) -> Iterator[Problem]:
    """At least one of the edges, by the first of them that is in."""
    forced, forbidden = problem
    for place, edge in enumerate(edges):
        if edge not in forbidden:
            yield forced | {edge}, forbidden | set(edges[:place])


def _without(node: int, problem: Problem, order: list[Edge]) -> Iterator[Problem]:
    """The graphs that the fact is not in."""
    forced, forbidden = problem
    touching = {edge for edge in order if node in edge}
    if not touching & forced:
        yield forced, forbidden | touching


def _break(cycle: list[Edge], problem: Problem) -> Iterator[Problem]:
    """Not all edges of the cycle, by the first of them that is out."""
    forced, forbidden = problem
    free = [edge for edge in cycle if edge not in forced]
    for place, edge in enumerate(free):
        yield forced | set(free[:place]), forbidden | {edge}


def find_cycle(edges: Iterable[Edge]) -> list[Edge] | None:
    """The edges of a cycle, if there is one: facts that nothing leads to are peeled off, what is left goes round."""
    before: dict[int, list[int]] = {}
    for a, b in edges:
        before.setdefault(b, []).append(a)
    while True:
        loose = [node for node, sources in before.items() if not any(a in before for a in sources)]
        if not loose:
            break
        for node in loose:
            del before[node]
    if not before:
        return None
    # walk back until a fact comes again
    place: dict[int, int] = {}
    walk = [next(iter(before))]
    while walk[-1] not in place:
        place[walk[-1]] = len(walk) - 1
        walk.append(next(a for a in before[walk[-1]] if a in before))
    round_trip = walk[place[walk[-1]] :]
    return [(a, b) for b, a in itertools.pairwise(round_trip)]


def graph_of(odds: Mapping[Edge, float]) -> tuple[EvidenceGraph, list[Edge]]:
    """The graph of all edges with odds of 0 and above, as far as they hang from the question; and the edges left out
    to keep it acyclic. An edge's score is its probability, ½ at the threshold."""
    chances = {edge: 1 / (1 + math.exp(-score)) for edge, score in odds.items() if score >= 0}
    kept, dropped = acyclic(chances)
    return EvidenceGraph.reachable(kept, chances), dropped


def acyclic(edges: Mapping[Edge, float]) -> tuple[list[Edge], list[Edge]]:
    """Split scored edges into a DAG and the edges left out of it.

    Edges are taken by falling score (equal ones by their numbers); one that would close a cycle is left out.
    """
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
