"""What a retriever of passages takes and gives; GEAR, PRISM, BridgeRAG and every base search have this shape.

What a retriever takes and gives; every system of the comparison table has this shape.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from bgr.graph.evidence_graph import Edge, EvidenceGraph
from bgr.llm.usage import Usage
from bgr.retrievers.graph_hop.likelihood import Path, Step


@dataclass(frozen=True)
class Query:
    """A question and the candidate facts to search: what a retriever may see of an `Example`.

    `gold_count` is the number of gold facts, for baselines that are given it (the paper's top-k protocol).
    """

    question: str
    facts: Sequence[str]
    gold_count: int | None = None


@dataclass(frozen=True)
class RetrievalResult:
    """The retrieved graph. `limits` names every decoding limit that was reached; `details` is for reports."""

    graph: EvidenceGraph
    limits: tuple[str, ...] = ()
    details: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class DirectionResult(RetrievalResult):
    """What one direction of BGR found. `odds` has every edge that was weighed, those left out of the graph among them,
    as log-odds from the direction's threshold: the graph's edges are those at 0 and above. `steps` has what was said at
    the end of every path that was walked. `likelihoods` remembers the graphs that were compared by `fusion`: dev
    compares the same ones under every γ."""

    odds: Mapping[Edge, float] = field(default_factory=dict, compare=False, repr=False)
    steps: Mapping[Path, Step] = field(default_factory=dict, compare=False, repr=False)
    likelihoods: dict[frozenset[Edge], float] = field(default_factory=dict, compare=False, repr=False)


class Retriever(ABC):
    """Base class. A subclass overrides `retrieve`, which owns the batching."""

    @abstractmethod
    def retrieve(self, queries: Sequence[Query]) -> list[RetrievalResult]:
        """One result for each query, in order."""


@dataclass(frozen=True)
class PassageResult:
    """What was found for one question.

    Args:
        places: of passages in the corpus, best first, each once.
        scores: of each place, falling.
        graph: how the passages hang together, for methods that know: its facts are numbers into `places`.
        answer: for methods that give one.
        usage: calls of the language model and what they took.
        seconds: all of it.
        trace: one record for each step, plain JSON values.
        sentences: for methods that choose within passages: ``(place, number of the sentence)``, in their order.
    """

    places: tuple[int, ...]
    scores: tuple[float, ...]
    graph: EvidenceGraph | None = None
    answer: str | None = None
    usage: Usage = field(default_factory=Usage)
    seconds: float = 0.0
    trace: tuple[dict[str, Any], ...] = ()
    sentences: tuple[tuple[int, int], ...] = ()


class PassageRetriever(ABC):
    """Base class. A subclass overrides `retrieve`, which owns the batching."""

    @abstractmethod
    def retrieve(self, questions: Sequence[str]) -> list[PassageResult]:
        """One result for each question, in order."""
