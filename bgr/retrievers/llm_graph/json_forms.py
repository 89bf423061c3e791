"""Chains as JSON: ``{"chains": [[2, 5], [4, 5]]}``, each from the question to a last fact.

Edges as JSON: ``{"edges": [[0, 2], [2, 5]]}``.

What comes before each fact as JSON: ``{"facts": [{"fact": 2, "after": []}, {"fact": 5, "after": [2]}]}``.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

from bgr.graph.evidence_graph import ROOT, Edge, EvidenceGraph
from bgr.llm.language_model import field_of
from bgr.llm.structured import WHOLE, Schema, list_of, object_of, row_of
from bgr.retrievers.llm_graph.form import Form, Numbers, ordered_edges


class EdgeForm(Form):
    """A list of pairs. A pair with an unknown fact, or anything that is not a pair, is not an edge."""

    name = "edges"

    def schema(self, edges: int) -> Schema:
        return object_of(edges=list_of(row_of(WHOLE, 2), edges))

    def write(self, graph: EvidenceGraph, facts: Sequence[str]) -> str:
        numbers = {ROOT: 0} | {node: node + 1 for node in graph.nodes}
        return json.dumps({"edges": [[numbers[a], numbers[b]] for a, b in ordered_edges(graph)]})

    def read(self, value: Any, numbers: Numbers) -> list[Edge] | None:
        rows = field_of(value, "edges", list)
        if rows is None:
            return None
        found = []
        for row in rows:
            if isinstance(row, list) and len(row) == 2:
                a, b = (numbers.place(end) for end in row)
                if a is not None and b is not None:
                    found.append((a, b))
        return found


MAX_BEFORE = 12
"""Facts before one."""


class ParentForm(Form):
    """A fact with nothing before it follows the question, also where all that was before it is unknown."""

    name = "parents"

    def schema(self, edges: int) -> Schema:
        fact = object_of(fact=WHOLE, after=list_of(WHOLE, MAX_BEFORE))
        return object_of(facts=list_of(fact, edges))

    def write(self, graph: EvidenceGraph, facts: Sequence[str]) -> str:
        rows = []
        for node in graph.order():
            before = graph.predecessors(node)
            # 0 is said only where it would not be understood
            after = [a + 1 for a in before] if set(before) != {ROOT} else []
            rows.append({"fact": node + 1, "after": after})
        return json.dumps({"facts": rows})

    def read(self, value: Any, numbers: Numbers) -> list[Edge] | None:
        rows = field_of(value, "facts", list)
        if rows is None:
            return None
        found: list[Edge] = []
        for row in rows:
            fact = numbers.place(row["fact"]) if isinstance(row, dict) and "fact" in row else None
            if fact is not None:
                places = [numbers.place(one) for one in field_of(row, "after", list) or []]
                found += [(a, fact) for a in places if a is not None] or [(ROOT, fact)]
        return found


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
