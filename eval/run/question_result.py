"""The result of one system for one question, as it is kept on disk."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any

from bgr.errors import DataError, GraphError
from bgr.graph.evidence_graph import EvidenceGraph
from bgr.llm.usage import Usage
from bgr.retrievers.base import RetrievalResult
from bgr.utils.json_utils import is_text, shown

MAX_NUMBER = 1e300
"""Bound of scores, counts and seconds: JSON may hold integers that no float can."""


@dataclass(frozen=True)
class QuestionResult:
    """The result of one system for one question.

    Args:
        id: of the question.
        passages: ids, best first.
        scores: of each passage.
        answer: where the system gives one.
        usage: calls of the language model.
        seconds: time for the question; replies from the cache take none.
        trace: the system's own record of its steps.
        sentences: pairs of a passage's id and the number of a sentence in it, for systems that choose sentences.
        graph: the evidence graph over positions in `passages`, from systems that give one.
    """

    id: str
    passages: tuple[str, ...]
    scores: tuple[float, ...]
    answer: str | None = None
    usage: Usage = field(default_factory=Usage)
    seconds: float = 0.0
    trace: tuple[Mapping[str, Any], ...] = ()
    sentences: tuple[tuple[str, int], ...] = ()
    graph: EvidenceGraph | None = None

    @classmethod
    def of(cls, question_id: str, result: RetrievalResult, ids: Sequence[str]) -> QuestionResult:
        """A retriever's result, with ids in place of indices; `ids` are those of the texts that were searched."""
        details = {**result.details, **({"limits": list(result.limits)} if result.limits else {})}
        rank = {index: rank for rank, index in enumerate(result.indices)}
        return cls(
            id=question_id,
            passages=tuple(ids[index] for index in result.indices),
            scores=tuple(float(score) for score in result.scores),
            answer=result.answer,
            usage=result.usage,
            seconds=result.seconds,
            trace=result.trace or (({"step": "graph", **details},) if details else ()),
            sentences=tuple((ids[index], number) for index, number in result.sentences),
            graph=None if result.is_list else result.graph.relabel(rank),
        )

    @property
    def whole_seconds(self) -> float:
        """The time that the method needs: with the seconds that cached replies took when they were made."""
        return self.seconds + self.usage.seconds_saved

    def to_json(self) -> dict[str, Any]:
        """A plain record; sentences and the graph's edges only where there are some."""
        record: dict[str, Any] = {
            "id": self.id,
            "passages": list(self.passages),
            "scores": list(self.scores),
            "answer": self.answer,
            "usage": self.usage.to_json(),
            "seconds": self.seconds,
            "trace": list(self.trace),
        }
        if self.sentences:
            record["sentences"] = [list(one) for one in self.sentences]
        return record | ({"edges": self.graph.to_json()} if self.graph is not None else {})

    @classmethod
    def from_json(cls, record: Any) -> QuestionResult:
        """The inverse of `to_json`. A record without sentences or edges has none.

        Raises:
            DataError: a field is missing or of another type.
        """
        try:
            usage = Usage(**record["usage"])
            found = cls(
                id=record["id"],
                passages=tuple(record["passages"]),
                scores=tuple(record["scores"]),
                answer=record["answer"],
                usage=usage,
                seconds=record["seconds"],
                trace=tuple(record["trace"]),
                sentences=tuple((passage, number) for passage, number in record.get("sentences", ())),
                graph=EvidenceGraph(record["edges"]) if "edges" in record else None,
            )
        except (AttributeError, GraphError, KeyError, TypeError, ValueError) as error:
            raise DataError(f"not the result of a question: {error}") from None
        found._check()
        return found

    def _check(self) -> None:
        texts = (self.id, *self.passages, self.answer if self.answer is not None else "")
        numbers = (*self.scores, self.seconds, *self.usage.to_json().values())
        if not all(is_text(text) for text in texts) or not all(
            type(n) in (int, float) and -MAX_NUMBER < n < MAX_NUMBER for n in numbers
        ):
            raise DataError(f"result of {shown(self.id)}: a field is of another type than it is written")
        if len(self.scores) != len(self.passages) or not all(isinstance(step, dict) for step in self.trace):
            raise DataError(f"result of {shown(self.id)}: scores or trace do not belong to it")
        if not all(_is_usage(step.get("usage")) for step in self.trace):
            raise DataError(f"result of {shown(self.id)}: the usage of a step is not valid")
        if self.graph is not None and self.graph.nodes and self.graph.nodes[-1] >= len(self.passages):
            raise DataError(f"result of {shown(self.id)}: the graph names a passage that was not found")
        if not all(is_text(passage) and type(number) is int and number >= 0 for passage, number in self.sentences):
            raise DataError(
                f"result of {shown(self.id)}: sentences are not pairs of a passage's id and a number from 0"
            )


def _is_usage(value: Any) -> bool:
    """True for the record of a usage, and for ``None``."""
    if not isinstance(value, Mapping):
        return value is None
    known = {one.name for one in fields(Usage)}
    return value.keys() <= known and all(
        type(n) in (int, float) and -MAX_NUMBER < n < MAX_NUMBER for n in value.values()
    )
