"""Edges as JSON: ``{"edges": [[0, 2], [2, 5]]}``."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from bgr.graph import ROOT, Edge, EvidenceGraph
from bgr.llm.read import field_of
from bgr.llm.schemas import WHOLE, Schema, list_of, object_of, row_of
from bgr.llm_graph.form import Form, ordered_edges
from bgr.llm_graph.numbers import Numbers


class EdgeForm(Form):
    """A list of pairs; a pair with an unknown fact is no edge, nor is what is no pair."""

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
