"""Steps in plain words, then the edges: ``Edges: Q -> 2, 2 -> 5``."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from bgr.graph import ROOT, Edge, EvidenceGraph
from bgr.llm_graph.arrow_text import arrows
from bgr.llm_graph.form import Form, ordered_edges
from bgr.llm_graph.numbers import Numbers, label
from bgr.llm_graph.prompts import clip

SAID = 100
"""Characters of a fact in a step."""

_LAST_LINE = re.compile(r"edges\W{0,4}:", re.IGNORECASE)


class StepForm(Form):
    """The words help the model and are not read: only what stands after the last ``Edges:`` counts."""

    name = "steps"

    def schema(self, edges: int) -> None:
        return None

    def write(self, graph: EvidenceGraph, facts: Sequence[str]) -> str:
        lines = [f"From {_sources(graph, node)}, fact {node + 1}: {clip(facts[node], SAID)}" for node in graph.order()]
        edges = ", ".join(f"{label(a, 'Q')} -> {label(b)}" for a, b in ordered_edges(graph))
        return "\n".join([*lines, f"Edges: {edges}"])

    def read(self, value: Any, numbers: Numbers) -> list[Edge] | None:
        parts = _LAST_LINE.split(value) if isinstance(value, str) else []
        return arrows(parts[-1], numbers) if len(parts) > 1 else None


def _sources(graph: EvidenceGraph, node: int) -> str:
    names = ["the question" if a == ROOT else f"fact {a + 1}" for a in graph.predecessors(node)]
    return " and ".join(names)
