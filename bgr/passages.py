"""What a retriever of passages takes and gives; GEAR, PRISM, BridgeRAG and every base search have this shape."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from bgr.graph import EvidenceGraph
from bgr.llm.usage import Usage


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
