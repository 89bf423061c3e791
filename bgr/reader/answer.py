"""The answer to one question, with its evidence."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bgr.collection.corpus import Passage
from bgr.errors import BgrError
from bgr.graph.draw import draw
from bgr.graph.evidence_graph import EvidenceGraph
from bgr.graph.notebook import graph_html
from bgr.reader.reader import Span
from bgr.utils.json_utils import repr_short
from bgr.utils.text_layout import two_digits


@dataclass(frozen=True)
class Answer:
    """The answer to one question, with its evidence.

    Args:
        question: the question.
        facts: its candidates, to which all numbers refer.
        graph: the evidence; empty if it does not seem complete.
        forward, backward: the graphs of both directions before they were merged.
        agreement: how much of both is the same, in [0, 1]: BSC (paper, section 4.3).
        limits: names of the limits that bound the search (`bgr.retrievers.graph_hop.decode.LIMITS`).
        completeness: probability that the candidates hold all of the evidence; ``None`` from a checkpoint that does not
            tell, or without candidates.
        has_reader: false if the checkpoint answers no questions.
        text: the answer; ``None`` if the evidence does not answer the question, or without a reader.
        confidence: probability that the answer is right; 0 without an answer, ``None`` if it is unknown.
        support: the facts that the answer comes from, if the reader tells.
        spans: what it was read from: the answer itself, or the numbers that were compared.
        failed: whether there is no answer because the reader failed; `warnings` say why.
        truncated: the texts that were not read to their end, −1 for the question.
        reader_truncated: whether the reader did not read all of its input.
        warnings: why the answer may be wrong: the question is unlike those of the training, or both directions found
            different evidence.
        documents: the texts of a collection that the candidates are, in the same order; empty for facts that were
            given.
    """

    question: str
    facts: tuple[str, ...]
    graph: EvidenceGraph
    forward: EvidenceGraph
    backward: EvidenceGraph
    agreement: float
    limits: tuple[str, ...]
    completeness: float | None = None
    has_reader: bool = False
    text: str | None = None
    confidence: float | None = None
    support: tuple[int, ...] = ()
    spans: tuple[Span, ...] = ()
    failed: bool = False
    truncated: tuple[int, ...] = ()
    reader_truncated: bool = False
    warnings: tuple[str, ...] = ()
    documents: tuple[Passage, ...] = ()

    @property
    def evidence(self) -> list[dict[str, Any]]:
        """The facts of the graph in the order of reasoning: number, id and title of a collection's document, text."""
        found: list[dict[str, Any]] = []
        for number in self.graph.order():
            document = self.documents[number] if self.documents else None
            source = {} if document is None else {"id": document.id, "title": document.title}
            found.append({"fact": number, **source, "text": self.facts[number]})
        return found

    @property
    def summary(self) -> str:
        """The answer and its confidence in one line."""
        if not self.has_reader:
            return "not given: this checkpoint holds no reader"
        if self.failed:
            return "not given: the reader failed"
        if self.text is None:
            return "not answerable from these facts" if self.facts else "not answerable: no text fits the question"
        return self.text if self.confidence is None else f"{self.text} (confidence {two_digits(self.confidence)})"

    def draw(self, path: str | Path) -> None:
        """Draw the graph with its sentences, the answer and its spans; the suffix of `path` decides the format
        (`bgr.graph.draw.draw`).

        Raises:
            BgrError: an unknown suffix, or there is no evidence to draw.
        """
        if not self.graph.nodes:
            raise BgrError(
                f"{path}: no evidence was found for {repr_short(self.question)}, so there is no graph to draw"
            )
        draw(self.graph, self.facts, self.question, path, caption=self._caption, marks=self._marks)

    def _repr_html_(self) -> str:
        """The answer and the graph, as a notebook shows them."""
        notes = [f"warning: {one}" for one in self.warnings]
        return graph_html(self.graph, self.facts, self.question, title=self._caption, notes=notes, marks=self._marks)

    @property
    def _caption(self) -> str:
        return f"Answer: {self.summary}" if self.has_reader else ""

    @property
    def _marks(self) -> dict[int, list[tuple[int, int]]]:
        marks: dict[int, list[tuple[int, int]]] = {}
        for span in self.spans:
            marks.setdefault(span.fact, []).append((span.start, span.end))
        return marks

    def to_json(self) -> dict[str, Any]:
        """A plain record: edges with scores, the root as −1, and the evidence in the order of reasoning, for a
        collection with ids and titles. A text begins with its title, and spans count from its start."""
        return {
            "question": self.question,
            "answer": self.text,
            "confidence": self.confidence,
            "completeness": self.completeness,
            "agreement": self.agreement,
            "support": list(self.support),
            "spans": [[one.fact, one.start, one.end] for one in self.spans],
            "edges": [[a, b, round(self.graph.scores.get((a, b), 0.0), 6)] for a, b in sorted(self.graph.edges)],
            "evidence": self.evidence,
            "forward": self.forward.to_json(),
            "backward": self.backward.to_json(),
            "limits": list(self.limits),
            "truncated": list(self.truncated),
            "reader_truncated": self.reader_truncated,
            "warnings": list(self.warnings),
        }
