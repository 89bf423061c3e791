"""The result of one system for one question, as it is stored on disk."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from bgr.errors import DataError, GraphError
from bgr.graph.evidence_graph import EvidenceGraph
from bgr.llm.usage import Usage
from bgr.retrievers.base import RetrievalResult, star
from bgr.utils.json_utils import is_text, repr_short

MAX_NUMBER = 1e300
"""Limit of scores, counts and seconds, because JSON may hold integers that are too large for a float."""

TOKENS = "tokens"
"""Name of the limit if a model read only the first tokens of a text."""


@dataclass(frozen=True)
class QuestionResult:
    """The result of one system for one question: ids and scores of passages, best first, and the usage of language
    models. `seconds` does not include cached replies, and `trace` is the system's own record of its steps. Some systems
    also give an answer, `sentences` (pairs of a passage's id and the number of a sentence in it), or a `graph` over
    positions in `passages`."""

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
        """A retriever's result, with ids in place of indices; `ids` are the ids of the texts that were searched."""
        limits = [*result.limits, *([TOKENS] if result.truncated else [])]
        details = {**result.details, **({"limits": limits} if limits else {})}
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
        """The time that the method needs: including the time that cached replies took originally."""
        return self.seconds + self.usage.seconds_saved

    def evidence(self, count: int) -> EvidenceGraph:
        """The graph; of a list, its first `count` passages, each linked to the question."""
        return star(range(min(count, len(self.passages)))) if self.graph is None else self.graph

    def to_json(self) -> dict[str, Any]:
        """A plain record; without sentences or a graph it lacks the field."""
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
        """The inverse of `to_json`.

        Raises:
            DataError: a field is missing or of another type.
        """
        try:
            found = cls(
                id=record["id"],
                passages=tuple(record["passages"]),
                scores=tuple(record["scores"]),
                answer=record["answer"],
                usage=Usage(**record["usage"]),
                seconds=record["seconds"],
                trace=tuple(record["trace"]),
                sentences=tuple((passage, number) for passage, number in record.get("sentences", ())),
                graph=EvidenceGraph(record["edges"]) if "edges" in record else None,
            )
            found._check()
        except (AttributeError, GraphError, KeyError, TypeError, ValueError) as error:
            raise DataError(f"not the result of a question: {error}") from None
        return found

    def _check(self) -> None:
        usages = [Usage(**step["usage"]) for step in self.trace if step.get("usage") is not None]
        numbers = [number for usage in (self.usage, *usages) for number in usage.to_json().values()]
        texts = [self.id, *self.passages, *(passage for passage, _ in self.sentences)]
        last = self.graph.nodes[-1] if self.graph is not None and self.graph.nodes else -1
        for right, problem in (
            (all(map(is_text, texts)) and (self.answer is None or is_text(self.answer)), "a text is not valid"),
            (all(map(_is_number, (*self.scores, self.seconds, *numbers))), "a number is not valid"),
            (len(self.scores) == len(self.passages), "the scores are not one for each passage"),
            (all(type(n) is int and n >= 0 for _, n in self.sentences), "sentences are not numbered from 0"),
            (last < len(self.passages), "the graph names a passage that was not found"),
        ):
            if not right:
                raise ValueError(f"result of {repr_short(self.id)}: {problem}")


def _is_number(value: Any) -> bool:
    return type(value) in (int, float) and -MAX_NUMBER < value < MAX_NUMBER
