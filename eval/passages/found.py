"""What one system found for one question, as it is kept on disk."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from bgr.errors import DataError
from bgr.json_text import is_text, shown
from bgr.llm.usage import Usage
from bgr.multihop.data import MultihopQuestion
from bgr.passages import PassageResult
from bgr.search.corpus import Corpus


@dataclass(frozen=True)
class Found:
    """The result of a question.

    Args:
        id: of the question.
        passages: ids, best first.
        scores: of each passage.
        answer: where the system gives one.
        usage: calls of the language model.
        seconds: all of it.
        trace: the system's own record of its steps.
    """

    id: str
    passages: tuple[str, ...]
    scores: tuple[float, ...]
    answer: str | None = None
    usage: Usage = field(default_factory=Usage)
    seconds: float = 0.0
    trace: tuple[Mapping[str, Any], ...] = ()

    @classmethod
    def of(cls, question: MultihopQuestion, result: PassageResult, corpus: Corpus) -> Found:
        """A retriever's result, its places as ids."""
        return cls(
            id=question.id,
            passages=tuple(corpus[place].id for place in result.places),
            scores=tuple(float(score) for score in result.scores),
            answer=result.answer,
            usage=result.usage,
            seconds=result.seconds,
            trace=result.trace,
        )

    def to_json(self) -> dict[str, Any]:
        """A plain record."""
        return {
            "id": self.id,
            "passages": list(self.passages),
            "scores": list(self.scores),
            "answer": self.answer,
            "usage": self.usage.to_json(),
            "seconds": self.seconds,
            "trace": list(self.trace),
        }

    @classmethod
    def from_json(cls, record: Any) -> Found:
        """The inverse of `to_json`.

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
            )
        except (KeyError, TypeError) as error:
            raise DataError(f"no result of a question: {error}") from None
        found._check()
        return found

    def _check(self) -> None:
        texts = (self.id, *self.passages, self.answer if self.answer is not None else "")
        numbers = (*self.scores, self.seconds, *self.usage.to_json().values())
        if not all(is_text(text) for text in texts) or not all(
            type(n) in (int, float) and math.isfinite(n) for n in numbers
        ):
            raise DataError(f"result of {shown(self.id)}: a field is of another type than it is written")
        if len(self.scores) != len(self.passages) or not all(isinstance(step, dict) for step in self.trace):
            raise DataError(f"result of {shown(self.id)}: scores or trace do not belong to it")
