"""A way to ask for an evidence graph: how a graph is written, and how a reply is read.

Fact numbers as a model writes them: 1, 2, … for the facts it was shown, 0 or Q for the question.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any

from bgr.graph.evidence_graph import ROOT, Edge, EvidenceGraph
from bgr.llm.structured import Schema

_LABEL = re.compile(r"\s*(?:[Qq]|[Ff]?(\d{1,9}))\s*")


class Numbers:
    """Tells the numbers that stand for something from those that were made up, and counts the latter.

    Args:
        count: facts that were shown.
    """

    def __init__(self, count: int) -> None:
        self.count = count
        self.unknown = 0

    def place(self, value: Any) -> int | None:
        """The fact's place from 0, or `ROOT`; ``None``, and counted, for any other value."""
        number = _number(value)
        if number is None or not 0 <= number <= self.count:
            self.unknown += 1
            return None
        return number - 1 if number else ROOT


def _number(value: Any) -> int | None:
    if isinstance(value, str):
        found = _LABEL.fullmatch(value)
        return None if found is None else int(found[1] or 0)
    if isinstance(value, float) and value.is_integer():
        return int(value)
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def label(node: int, question: str = "0", before: str = "") -> str:
    """A node of a graph over the facts shown, as a model is to write it."""
    return question if node == ROOT else f"{before}{node + 1}"


class Form(ABC):
    """Base class of the five ways (paper, section 5.1: five prompts, which it does not print).

    `name` is that of the prompt's file.
    """

    name: str

    @abstractmethod
    def schema(self, edges: int) -> Schema | None:
        """The schema of a reply with about so many edges at most; ``None`` where the reply is free text."""

    @abstractmethod
    def write(self, graph: EvidenceGraph, facts: Sequence[str]) -> str:
        """The reply that tells a graph over facts; read back, it gives the same graph."""

    @abstractmethod
    def read(self, value: Any, numbers: Numbers) -> list[Edge] | None:
        """The edges that a reply tells, in its order, with any fault but unknown facts; ``None`` where it tells none.

        Args:
            value: an object or a text, as `bgr.llm.language_model.Reply` has it; untrusted.
            numbers: of the facts that were shown.
        """


def ordered_edges(graph: EvidenceGraph) -> list[Edge]:
    """All edges, those into a fact together, facts in the order of reasoning (`EvidenceGraph.order`)."""
    return [(a, b) for b in graph.order() for a in graph.predecessors(b)]
