"""Answers from the evidence that a system found, by a language model or by a trained reader."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

from bgr.collection.corpus import Corpus, Passage
from bgr.data.multihop.assemble import MultihopQuestion
from bgr.llm.interface import Message, Request
from bgr.llm.language_model import LanguageModel, Reply
from bgr.llm.prompts import Prompts
from bgr.llm.structured import SHORT_ANSWER, SHORT_ANSWER_TOKENS
from bgr.llm.usage import Usage
from eval.run.question_result import TOKENS, QuestionResult

if TYPE_CHECKING:
    from bgr.reader.reader import Reader, ReaderAnswer, ReaderInput
    from bgr.retrievers.llm_graph.answerer import LlmAnswer, LlmAnswerer

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


Answers = Callable[[Sequence[MultihopQuestion], Sequence[QuestionResult]], list[ReadAnswer]]
"""From questions, and what a system found for them, to one answer for each question."""


class LlmAnswers:
    """`Answers` of a language model that reads the first passages."""

    def __init__(self, reader: PassageReader, corpus: Corpus) -> None:
        self.concurrency = reader.llm.workers
        self.reader = reader
        self.corpus = corpus

    def __call__(self, questions: Sequence[MultihopQuestion], found: Sequence[QuestionResult]) -> list[ReadAnswer]:
        passages = [[self.corpus[self.corpus.index_of[one]] for one in each.passages] for each in found]
        return self.reader.read([one.question for one in questions], passages)


class TrainedAnswers:
    """`Answers` of BGR's reader from the graph that a system gives. From a list, it reads as many passages as there are
    gold ones, each linked to the question. With `alone` it answers from the question alone; otherwise a question
    without evidence has no answer."""

    def __init__(self, reader: Reader, corpus: Corpus, *, alone: bool = False) -> None:
        self.reader = reader
        self.corpus = corpus
        self.alone = alone

    def __call__(self, questions: Sequence[MultihopQuestion], found: Sequence[QuestionResult]) -> list[ReadAnswer]:
        started = time.perf_counter()
        if self.alone:
            read = self.reader.answer_alone([one.question for one in questions])
        else:
            read = self.reader.answer(_inputs(questions, found, self.corpus))
        share = (time.perf_counter() - started) / max(1, len(questions))
        return [ReadAnswer(one.text, Usage(), share, _read_step(one)) for one in read]


class GraphAnswers:
    """`Answers` of a language model that is given the question, the facts of a system's graph, or the graph in words;
    for a list, see `TrainedAnswers`. Without evidence it is asked only if it needs none."""

    def __init__(self, answerer: LlmAnswerer, corpus: Corpus) -> None:
        self.concurrency = answerer.llm.workers
        self.answerer = answerer
        self.corpus = corpus

    def __call__(self, questions: Sequence[MultihopQuestion], found: Sequence[QuestionResult]) -> list[ReadAnswer]:
        started = time.perf_counter()
        found = [_in_context_order(*pair) for pair in zip(questions, found, strict=True)]
        said = self.answerer.answer(_inputs(questions, found, self.corpus))
        share = (time.perf_counter() - started) / max(1, len(questions))
        return [ReadAnswer(one.text, one.usage, share, _step(one)) for one in said]


def _read_step(read: ReaderAnswer) -> dict[str, Any]:
    return {"step": "answer", "answer": read.text} | ({"limits": [TOKENS]} if read.truncated else {})


def _step(said: LlmAnswer) -> dict[str, Any]:
    step = {"step": "answer", "answer": said.text, "failure": said.failure, "usage": said.usage.to_json()}
    return step | ({"left_out": said.left_out} if said.left_out else {})


def _in_context_order(question: MultihopQuestion, found: QuestionResult) -> QuestionResult:
    """The graph's passages in the order of the question's context, because their rank reveals the graph's order."""
    if found.graph is None:
        return found
    number = {passage: place for place, passage in enumerate(question.context)}
    order = sorted(range(len(found.passages)), key=lambda rank: number.get(found.passages[rank], len(number)))
    graph = found.graph.relabel({rank: place for place, rank in enumerate(order)})
    return replace(found, passages=tuple(found.passages[rank] for rank in order), graph=graph)


def _inputs(
    questions: Sequence[MultihopQuestion], found: Sequence[QuestionResult], corpus: Corpus
) -> list[ReaderInput]:
    from bgr.reader.reader import ReaderInput

    inputs = []
    for question, one in zip(questions, found, strict=True):
        facts = tuple(corpus[corpus.index_of[passage]].whole for passage in one.passages)
        graph = one.evidence(len(question.gold) + question.missing)
        inputs.append(ReaderInput(question.question, facts, graph))
    return inputs


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
