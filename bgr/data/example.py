"""A sample of a dataset: a question, its candidate facts and the gold evidence graph."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from bgr.errors import BgrError, DataError
from bgr.graph.evidence_graph import EvidenceGraph
from bgr.utils.json_utils import shown

QUESTION_TYPES = ("query", "comparison", "count", "boolean", "qualifier")
STRUCTURES = ("SC-SH", "SC-MH", "MC-SH", "MC-MH")


@dataclass(frozen=True)
class Example:
    """A question over its target database (the candidate facts).

    Args:
        id: identifier of the sample, unique in its dataset.
        question: text of the question.
        facts: candidate sentences (the target database); ``graph`` numbers them from 0.
        graph: the gold evidence graph.
        answer: the annotated answer.
        program: the KoPL program in KQA Pro's form, ``[{function, dependencies, inputs}, …]``; empty if unknown.
        type: one of ``QUESTION_TYPES`` (paper, section 3.3).
    """

    id: str
    question: str
    facts: tuple[str, ...]
    graph: EvidenceGraph
    answer: str
    program: tuple[Mapping[str, Any], ...]
    type: str

    def __post_init__(self) -> None:
        if self.graph.nodes and self.graph.nodes[-1] >= len(self.facts):
            raise DataError(
                f"sample {shown(self.id)}: the graph names fact {shown(self.graph.nodes[-1])}, "
                f"but there are {len(self.facts)} candidates"
            )
        if self.type not in QUESTION_TYPES:
            raise DataError(
                f"sample {shown(self.id)}: unknown type {shown(self.type)}, known: {', '.join(QUESTION_TYPES)}"
            )

    @property
    def answerable(self) -> bool:
        """False if the candidates do not support an answer: the gold graph is empty."""
        return bool(self.graph.nodes)

    @property
    def structure(self) -> str:
        return self.graph.structure

    def to_json(self) -> dict[str, Any]:
        """A record for JSON. ``structure`` follows from the graph; it is written for people who read the file."""
        return {
            "id": self.id,
            "question": self.question,
            "facts": list(self.facts),
            "edges": self.graph.to_json(),
            "answer": self.answer,
            "program": [dict(step) for step in self.program],
            "type": self.type,
            "structure": self.structure,
        }

    @classmethod
    def from_json(cls, record: Mapping[str, Any]) -> Example:
        """The inverse of `to_json`.

        Raises:
            DataError: a field is missing or the graph is invalid; the message names the sample.
        """
        try:
            return cls(
                id=str(record["id"]),
                question=record["question"],
                facts=tuple(record["facts"]),
                graph=EvidenceGraph([(a, b) for a, b in record["edges"]]),
                answer=record["answer"],
                program=tuple(record["program"]),
                type=record["type"],
            )
        except KeyError as error:
            raise DataError(f"sample {shown(record.get('id', '?'))}: field {error.args[0]!r} is missing") from error
        except (BgrError, TypeError, ValueError) as error:
            raise DataError(f"sample {shown(record.get('id', '?'))}: {error}") from error
