"""A graph in code: ``digraph evidence { Q -> F2; F2 -> F5; }``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from bgr.graph import Edge, EvidenceGraph
from bgr.llm_graph.arrow_text import arrows
from bgr.llm_graph.form import Form, ordered_edges
from bgr.llm_graph.numbers import Numbers, label


class ArrowForm(Form):
    """All arrows of the reply are read, wherever they stand."""

    name = "arrows"

    def schema(self, edges: int) -> None:
        return None

    def write(self, graph: EvidenceGraph, facts: Sequence[str]) -> str:
        lines = [f"  {label(a, 'Q', 'F')} -> {label(b, 'Q', 'F')};" for a, b in ordered_edges(graph)]
        return "\n".join(["digraph evidence {", *lines, "}"])

    def read(self, value: Any, numbers: Numbers) -> list[Edge] | None:
        return arrows(value, numbers) if isinstance(value, str) else None
