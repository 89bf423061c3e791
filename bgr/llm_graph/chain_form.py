"""Chains as JSON: ``{"chains": [[2, 5], [4, 5]]}``, each from the question to a last fact."""

from __future__ import annotations

import json
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

from bgr.graph import ROOT, Edge, EvidenceGraph
from bgr.llm.read import field_of
from bgr.llm.schemas import WHOLE, Schema, list_of, object_of
from bgr.llm_graph.form import Form, ordered_edges
from bgr.llm_graph.numbers import Numbers

LONGEST = 24
"""Facts of a chain: the longest of the paper's graphs (Table 2)."""


class ChainForm(Form):
    """Lists of facts. The question is not written; an unknown fact is passed over, and its neighbours are joined."""

    name = "chains"

    def schema(self, edges: int) -> Schema:
        return object_of(chains=list_of(list_of(WHOLE, LONGEST), edges))

    def write(self, graph: EvidenceGraph, facts: Sequence[str]) -> str:
        return json.dumps({"chains": [[node + 1 for node in chain] for chain in covering_chains(graph)]})

    def read(self, value: Any, numbers: Numbers) -> list[Edge] | None:
        rows = field_of(value, "chains", list)
        if rows is None:
            return None
        found: list[Edge] = []
        for row in rows:
            places = map(numbers.place, row) if isinstance(row, list) else ()
            known = [place for place in places if place is not None]
            start = [] if known[:1] == [ROOT] else [ROOT]
            found += pairwise([*start, *known])
        return found


def covering_chains(graph: EvidenceGraph) -> list[list[int]]:
    """Chains from the question to last facts that together have every edge: as many as edges at most, where all paths
    of a graph may be beyond number."""
    chains: list[list[int]] = []
    told: set[Edge] = set()
    for edge in ordered_edges(graph):
        if edge not in told:
            path = [*_to(graph, edge[0]), *_on(graph, edge[1], told)]
            told |= set(pairwise(path))
            chains.append(path[1:])
    return chains


def _to(graph: EvidenceGraph, node: int) -> list[int]:
    """A path from the question to a node, both of them on it."""
    path = [node]
    while path[-1] != ROOT:
        path.append(graph.predecessors(path[-1])[0])
    return path[::-1]


def _on(graph: EvidenceGraph, node: int, told: set[Edge]) -> list[int]:
    """A path from a node to a last fact, along edges that were not told where there is a choice."""
    path = [node]
    while after := graph.successors(path[-1]):
        path.append(min(after, key=lambda b: ((path[-1], b) in told, b)))
    return path
