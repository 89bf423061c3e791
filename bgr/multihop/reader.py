"""Answers from retrieved passages: a language model reads the first of any retriever's list."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from importlib.resources import files
from string import Template
from typing import Any

from bgr.llm.interface import Message, Request
from bgr.llm.llm import Asks, Reply
from bgr.passages import PassageResult, PassageRetriever
from bgr.search.corpus import Corpus

PASSAGES = 5
"""That are read (GEAR, Table 3)."""

MAX_TOKENS = 64
"""Longest reply."""

SCHEMA = {
    "type": "object",
    "properties": {"answer": {"type": "string"}},
    "required": ["answer"],
    "additionalProperties": False,
}


class AnsweringRetriever(PassageRetriever):
    """A retriever whose results carry the reader's answer, in place of one that the retriever gives itself.

    A reply that cannot be used leaves no answer and counts as failed.

    Args:
        retriever: finds the passages.
        llm: reads them.
        corpus: the passages.
        passages: how many are read.
    """

    def __init__(self, retriever: PassageRetriever, llm: Asks, corpus: Corpus, *, passages: int = PASSAGES) -> None:
        self.retriever = retriever
        self.llm = llm
        self.corpus = corpus
        self.passages = passages

    def retrieve(self, questions: Sequence[str]) -> list[PassageResult]:
        """The retriever's results with answers; usage and seconds are of both."""
        found = self.retriever.retrieve(questions)
        started = time.perf_counter()
        replies = self.llm.ask([self._request(*pair) for pair in zip(questions, found, strict=True)])
        share = (time.perf_counter() - started) / max(1, len(questions))
        return [_with_answer(result, reply, share) for result, reply in zip(found, replies, strict=True)]

    def _request(self, question: str, result: PassageResult) -> Request:
        read = [self.corpus[place] for place in result.places[: self.passages]]
        passages = "\n\n".join(f"[{number}] {passage.whole}" for number, passage in enumerate(read, 1))
        text = _prompt().substitute(question=question, passages=passages)
        return Request("qa.answer", (Message("user", text),), SCHEMA, MAX_TOKENS)


@cache
def _prompt() -> Template:
    return Template((files("bgr.multihop") / "prompts" / "answer.md").read_text(encoding="utf-8").strip())


def _with_answer(result: PassageResult, reply: Reply, seconds: float) -> PassageResult:
    answer = reply.value["answer"] if reply.failure is None else None
    step: dict[str, Any] = {
        "step": "answer",
        "answer": answer,
        "failure": reply.failure,
        "usage": reply.usage.to_json(),
    }
    return replace(
        result,
        answer=answer,
        usage=result.usage + reply.usage,
        seconds=result.seconds + seconds,
        trace=(*result.trace, step),
    )
