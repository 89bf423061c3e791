"""A way to ask for an evidence graph: how a graph is written, and how a reply is read."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any

from bgr.graph import Edge, EvidenceGraph
from bgr.llm.schemas import Schema
from bgr.llm_graph.numbers import Numbers


class Form(ABC):
    """Base class of the five ways (paper, section 5.1: five prompts, which it does not print).

    `name` is that of the prompt's file.
    """

    name: str

    @abstractmethod
    def schema(self, edges: int) -> Schema | None:
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


def ordered_edges(graph: EvidenceGraph) -> list[Edge]:
    """All edges, those into a fact together, facts in the order of reasoning (`EvidenceGraph.order`)."""
    return [(a, b) for b in graph.order() for a in graph.predecessors(b)]
