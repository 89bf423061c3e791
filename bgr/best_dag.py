"""The most probable evidence graph: of all DAGs that hang from the question, the one of the greatest total weight.

With the log-odds of independent edges as weights, a graph's total weight is its log-probability up to a constant.
Branch and bound: without the constraints the best graph is made of all edges of 0 and above. Where that breaks one,
every way to mend it becomes a problem of its own, with some edges forced and some forbidden; the most promising first.
"""

from __future__ import annotations

import heapq
import itertools
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from bgr.graph import ROOT, Edge

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
