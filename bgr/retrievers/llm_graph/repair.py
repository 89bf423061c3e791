"""From the edges that a model wrote to a graph that keeps the constraints, by rules that do not depend on luck."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from bgr.graph.evidence_graph import ROOT, EvidenceGraph

FAULTS = ("into_question", "loops", "repeated", "cycles", "beyond", "hung")
"""Edges left out: into the question, from a fact to itself, told before, closing a cycle with those before it, after
the last that is read; and facts that nothing led to, which the question now leads to."""


class Repaired(NamedTuple):
    """The graph, and how often each of `FAULTS` was met."""

    graph: EvidenceGraph
    faults: dict[str, int]


def repair(edges: Iterable[tuple[int, int]], most: int) -> Repaired:
    """Edges in the order written, each kept unless it is at fault; then a fact that nothing leads to, but that leads
    to others, follows the question. Without cycles all facts are then reachable from it.

    Args:
        edges: between places of facts and `ROOT`.
        most: edges that are looked at.
    """
    faults = dict.fromkeys(FAULTS, 0)
    after: dict[int, list[int]] = {}
    for number, (a, b) in enumerate(edges):
        fault = "beyond" if number >= most else _fault(a, b, after)
        if fault:
            faults[fault] += 1
        else:
            after.setdefault(a, []).append(b)
    reached = {b for targets in after.values() for b in targets}
    loose = [a for a in after if a != ROOT and a not in reached]
    faults["hung"] = len(loose)
    kept = [(a, b) for a, targets in after.items() for b in targets]
    return Repaired(EvidenceGraph([*kept, *((ROOT, a) for a in loose)]), faults)


def _fault(a: int, b: int, after: dict[int, list[int]]) -> str | None:
    if b == ROOT:
        return "into_question"
    if a == b:
        return "loops"
    if b in after.get(a, ()):
        return "repeated"
    return "cycles" if _leads(b, a, after) else None


def _leads(start: int, end: int, after: dict[int, list[int]]) -> bool:
    """True where a path leads from one fact to another."""
    seen, stack = {start}, [start]
    while stack:
        node = stack.pop()
        if node == end:
            return True
        new = [b for b in after.get(node, ()) if b not in seen]
        seen.update(new)
        stack += new
    return False
