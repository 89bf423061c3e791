"""The five ways to ask, by name.

Arrows between labels in free text: ``Q -> 2``, ``F2 -> F5;``, ``the question -> [2] -> fact 5``.

A graph in code: ``digraph evidence { Q -> F2; F2 -> F5; }``.

Steps in plain words, then the edges: ``Edges: Q -> 2, 2 -> 5``.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

from bgr.graph.evidence_graph import ROOT, Edge, EvidenceGraph
from bgr.retrievers.llm_graph.form import Form, Numbers, label, ordered_edges
from bgr.retrievers.llm_graph.json_forms import ChainForm, EdgeForm, ParentForm
from bgr.retrievers.llm_graph.prompts import clip

MAX_READ = 20_000
"""Characters of a reply that are looked at."""

_ARROW = r"\s{0,9}(?:-{1,2}>|=>|→)\s{0,9}"
_LABEL = r"(?:[Qq]|[Ff]?\d+)"
_AROUND = re.compile(r"[\[\]()\"'`*#]|\bfacts?\s?(?=\d)", re.IGNORECASE)
_QUESTION = re.compile(r"\b(?:the\s)?question\b", re.IGNORECASE)
_RUN = re.compile(rf"(?<![\w.-]){_LABEL}(?:{_ARROW}{_LABEL})+(?!\w)")


def arrows(text: str, numbers: Numbers) -> list[Edge] | None:
    """The edges of all arrows in order, those with an unknown end left out; ``None`` where there is no arrow."""
    plain = _QUESTION.sub("Q", _AROUND.sub("", text[:MAX_READ]))
    runs = [re.split(_ARROW, run) for run in _RUN.findall(plain)]
    pairs = [(numbers.place(a), numbers.place(b)) for run in runs for a, b in pairwise(run)]
    return [(a, b) for a, b in pairs if a is not None and b is not None] if runs else None


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


FORMS: Mapping[str, Form] = {
    form.name: form for form in (EdgeForm(), ChainForm(), ParentForm(), StepForm(), ArrowForm())
}
