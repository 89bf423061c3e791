"""Answers to what a system found, by a language model or by a trained reader."""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from bgr.collection.corpus import Corpus
from bgr.data.multihop.assemble import MultihopQuestion
from bgr.graph.evidence_graph import ROOT, EvidenceGraph
from bgr.llm.usage import Usage
from bgr.reader.passage_reader import PassageReader, ReadAnswer
from eval.run.question_result import QuestionResult

if TYPE_CHECKING:
    from bgr.reader.reader import Reader, ReaderInput
    from bgr.retrievers.llm_graph.answerer import LlmAnswer, LlmAnswerer


class Answers(ABC):
    """Answers questions from what was found."""

    @abstractmethod
    def __call__(self, questions: Sequence[MultihopQuestion], found: Sequence[QuestionResult]) -> list[ReadAnswer]:
        """One answer for each question, in order."""


class LlmAnswers(Answers):
    """A language model reads the first passages."""

    def __init__(self, reader: PassageReader, corpus: Corpus) -> None:
        self.reader = reader
        self.corpus = corpus

    def __call__(self, questions: Sequence[MultihopQuestion], found: Sequence[QuestionResult]) -> list[ReadAnswer]:
        """See `Answers`."""
        passages = [[self.corpus[self.corpus.index_of[one]] for one in each.passages] for each in found]
        return self.reader.read([one.question for one in questions], passages)


class TrainedAnswers(Answers):
    """BGR's reader, over the graph that a system gives; of a list, as many passages as there are gold ones, each from
    the question.

    Args:
        reader: the reader.
        corpus: the passages.
        alone: whether it answers from the question alone; else it does not answer where nothing was found.
    """

    def __init__(self, reader: Reader, corpus: Corpus, *, alone: bool = False) -> None:
        self.reader = reader
        self.corpus = corpus
        self.alone = alone

    def __call__(self, questions: Sequence[MultihopQuestion], found: Sequence[QuestionResult]) -> list[ReadAnswer]:
        """See `Answers`."""
        from bgr.reader.reader import linearize

        started = time.perf_counter()
        if self.alone:
            structure = self.reader.settings.structure
            read = self.reader.read(
                [linearize(q.question, (), EvidenceGraph(), structure=structure) for q in questions]
            )
        else:
            read = self.reader.answer(_inputs(questions, found, self.corpus))
        share = (time.perf_counter() - started) / max(1, len(questions))
        return [ReadAnswer(one.text, Usage(), share, {"step": "answer", "answer": one.text}) for one in read]


class GraphAnswers(Answers):
    """A language model that is told the question, the facts of the graph that a system gives, or the graph in words; of
    a list, see `TrainedAnswers`. Where nothing was found it is asked only if it needs no evidence."""

    def __init__(self, answerer: LlmAnswerer, corpus: Corpus) -> None:
        self.answerer = answerer
        self.corpus = corpus

    def __call__(self, questions: Sequence[MultihopQuestion], found: Sequence[QuestionResult]) -> list[ReadAnswer]:
        """See `Answers`."""
        started = time.perf_counter()
        found = [_in_context_order(*pair) for pair in zip(questions, found, strict=True)]
        said = self.answerer.answer(_inputs(questions, found, self.corpus))
        share = (time.perf_counter() - started) / max(1, len(questions))
        return [ReadAnswer(one.text, one.usage, share, _step(one)) for one in said]


def _step(said: LlmAnswer) -> dict[str, Any]:
    step = {"step": "answer", "answer": said.text, "failure": said.failure, "usage": said.usage.to_json()}
    return step | ({"left_out": said.left_out} if said.left_out else {})


def _in_context_order(question: MultihopQuestion, found: QuestionResult) -> QuestionResult:
    """The graph's passages as they stand in the question's context: a list of facts tells nothing of the graph."""
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

    facts = [tuple(corpus[corpus.index_of[passage]].whole for passage in one.passages) for one in found]
    rows = zip(questions, facts, found, strict=True)
    return [ReaderInput(question.question, of_one, _graph(question, one)) for question, of_one, one in rows]


def _graph(question: MultihopQuestion, found: QuestionResult) -> EvidenceGraph:
    if found.graph is not None:
        return found.graph
    most = min(len(found.passages), len(question.gold) + question.missing)
    return EvidenceGraph((ROOT, place) for place in range(most))
