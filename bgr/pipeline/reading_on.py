"""More of the candidates of a search, where the evidence seems incomplete.

A checkpoint reads the first candidates of a search. Where it then doubts that its evidence is complete, it keeps those
that matter most, reads the next ones in place of the others, and so on; of all readings, the most complete one counts.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from bgr.graph.evidence_graph import ROOT
from bgr.pipeline.graphs import DirectedGraphs
from bgr.retrievers.base import Query

ROUNDS = 3
"""Maximum further readings of a question. Chosen on dev, as is `ENOUGH`."""

ENOUGH = 0.98
"""Probability of complete evidence from which nothing more is read."""


def read_on(
    queries: Sequence[Query],
    found: Sequence[DirectedGraphs],
    read: Callable[[Sequence[Query], Sequence[list[int]]], Sequence[DirectedGraphs]],
    completeness: Callable[[DirectedGraphs], float | None],
) -> list[DirectedGraphs]:
    """The most complete reading of each query.

    Queries whose candidates are in no order of a search (`Query.read_first`), or were all read, are left as they are.

    Args:
        found: the first reading of each query.
        read: reads the given candidates of each query.
        completeness: probability that the evidence of a reading is complete; ``None`` if it cannot be told.
    """
    best, last = list(found), list(found)
    chances = [completeness(one) for one in found]
    seen = [set(one.kept or range(len(query.facts))) for query, one in zip(queries, found, strict=True)]
    for _ in range(ROUNDS):
        rows = [
            row
            for row, (query, chance) in enumerate(zip(queries, chances, strict=True))
            if query.read_first and chance is not None and chance < ENOUGH and len(seen[row]) < len(query.facts)
        ]
        if not rows:
            break
        chosen = [next_candidates(last[row], seen[row], len(queries[row].facts)) for row in rows]
        for row, numbers, one in zip(rows, chosen, read([queries[row] for row in rows], chosen), strict=True):
            last[row] = one
            seen[row] |= set(numbers)
            chance, before = completeness(one), chances[row]
            if chance is not None and before is not None and chance > before:
                best[row], chances[row] = one, chance
    return best


def next_candidates(last: DirectedGraphs, seen: set[int], count: int) -> list[int]:
    """What is read next, of `count` candidates: the half of the last ones with the most probable edges, and as many
    that were not `seen` yet, in the order of the search."""
    assert last.kept is not None
    odds: dict[int, float] = {}
    for direction in (last.forward, last.backward):
        for edge, value in direction.odds.items():
            for node in edge:
                if node != ROOT:
                    odds[node] = max(odds.get(node, value), value)
    half = len(last.kept) // 2
    kept = sorted(last.kept, key=lambda node: (-odds.get(node, float("-inf")), node))[:half]
    new = [number for number in range(count) if number not in seen][: len(last.kept) - half]
    return sorted([*kept, *new])
