"""Repair of the edges that a model wrote, by deterministic rules, so that they form a valid evidence graph."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import networkx as nx

from bgr.graph.evidence_graph import ROOT, EvidenceGraph

FAULTS = ("into_question", "loops", "repeated", "cycles", "beyond", "hung")
"""Edges left out: into the question, from a fact to itself, repeated, closing a cycle with earlier edges, after the
last edge that is read; and facts without an incoming edge, to which the question now leads."""


class Repaired(NamedTuple):
    """The graph, and the count of each of `FAULTS`."""

    graph: EvidenceGraph
    faults: dict[str, int]


def repair(edges: Iterable[tuple[int, int]], max_edges: int) -> Repaired:
    """Keep each edge, in the order written, unless it is at fault; then let the question lead to every fact without an
    incoming edge. Since there are no cycles, all facts are then reachable from the question.

    Edges are pairs of indices of facts, or `ROOT`; the first `max_edges` are read.
    """
    faults = dict.fromkeys(FAULTS, 0)
    kept = nx.DiGraph()
    for number, (a, b) in enumerate(edges):
        if fault := "beyond" if number >= max_edges else _fault(a, b, kept):
            faults[fault] += 1
        else:
            kept.add_edge(a, b)
    loose = [node for node, degree in kept.in_degree() if not degree and node != ROOT]
    faults["hung"] = len(loose)
    return Repaired(EvidenceGraph([*kept.edges, *((ROOT, node) for node in loose)]), faults)


def _fault(a: int, b: int, kept: nx.DiGraph) -> str | None:
    if b == ROOT:
        return "into_question"
    if a == b:
        return "loops"
    if kept.has_edge(a, b):
        return "repeated"
    return "cycles" if a in kept and b in kept and nx.has_path(kept, b, a) else None
