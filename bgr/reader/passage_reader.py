"""Answers from retrieved passages by a language model."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any, NamedTuple

from bgr.collection.corpus import Passage
from bgr.llm.interface import Message, Request
from bgr.llm.language_model import LanguageModel, Reply
from bgr.llm.prompts import Prompts
from bgr.llm.structured import SHORT_ANSWER, SHORT_ANSWER_TOKENS
from bgr.llm.usage import Usage

prompt = Prompts("bgr.multihop")

PASSAGES = 5
"""Number of passages for an answer (GEAR, Table 3)."""


class ReadAnswer(NamedTuple):
    """The answer (``None`` if the reply was unusable, which counts as a failure), its usage and time, and the record of
    the step for a trace."""

    text: str | None
    usage: Usage
    seconds: float
    step: dict[str, Any]


class PassageReader:
    """A language model that answers from the first `passages` passages."""

    def __init__(self, llm: LanguageModel, *, passages: int = PASSAGES) -> None:
        self.llm = llm
        self.passages = passages

    def read(self, questions: Sequence[str], found: Sequence[Sequence[Passage]]) -> list[ReadAnswer]:
        """One answer for each question from the first passages of its list, best first; the list may be empty."""
        started = time.perf_counter()
        replies = self.llm.ask([self._request(*pair) for pair in zip(questions, found, strict=True)])
        share = (time.perf_counter() - started) / max(1, len(questions))
        return [_answer(reply, share) for reply in replies]

    def _request(self, question: str, found: Sequence[Passage]) -> Request:
        read = enumerate(found[: self.passages], 1)
        passages = "\n\n".join(f"[{number}] {passage.whole}" for number, passage in read) or "(none)"
        text = prompt("answer", question=question, passages=passages)
        return Request("qa.answer", (Message("user", text),), SHORT_ANSWER, SHORT_ANSWER_TOKENS)


def _answer(reply: Reply, seconds: float) -> ReadAnswer:
    answer = reply.value["answer"] if reply.failure is None else None
    step = {"step": "answer", "answer": answer, "failure": reply.failure, "usage": reply.usage.to_json()}
    return ReadAnswer(answer, reply.usage, seconds, step)
