"""A way to ask for an evidence graph: how a graph is written, and how a reply is read."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any

from bgr.graph import Edge, EvidenceGraph
from bgr.llm_graph.numbers import Numbers


class Form(ABC):
    """Base class of the five ways (paper, section 5.1: five prompts, which it does not print).

    `name` is that of the prompt's file.
    """

    name: str

    @abstractmethod
    def schema(self, edges: int) -> dict[str, Any] | None:
        """Of a reply with about so many edges at most; ``None`` where the reply is free text."""

    @abstractmethod
    def write(self, graph: EvidenceGraph, facts: Sequence[str]) -> str:
        """The reply that tells a graph over facts; read back, it gives the same graph."""

    @abstractmethod
    def read(self, value: Any, numbers: Numbers) -> list[Edge] | None:
        """The edges that a reply tells, in its order, with any fault but unknown facts; ``None`` where it tells none.

        Args:
            value: an object or a text, as `bgr.llm.llm.Reply` has it; untrusted.
            numbers: of the facts that were shown.
        """


def object_of(name: str, items: dict[str, Any], most: int) -> dict[str, Any]:
    """The schema of an object with one list."""
    return {
        "type": "object",
        "properties": {name: {"type": "array", "items": items, "maxItems": most}},
        "required": [name],
        "additionalProperties": False,
    }


def list_of(value: Any, name: str) -> list[Any] | None:
    """The list under a name, where the value is an object that has one."""
    found = value.get(name) if isinstance(value, dict) else None
    return found if isinstance(found, list) else None


def ordered_edges(graph: EvidenceGraph) -> list[Edge]:
    """All edges, those into a fact together, facts in the order of reasoning (`EvidenceGraph.order`)."""
    return [(a, b) for b in graph.order() for a in graph.predecessors(b)]
