"""Answers to what a system found, by a language model or by a trained reader."""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import TYPE_CHECKING

from bgr.graph import ROOT, EvidenceGraph
from bgr.llm.usage import Usage
from bgr.multihop.data import MultihopQuestion
from bgr.multihop.reader import PassageReader, ReadAnswer
from bgr.search.corpus import Corpus
from eval.passages.found import Found

if TYPE_CHECKING:
    from bgr.reader.reader import Reader


class Answers(ABC):
    """Answers questions from what was found."""

    @abstractmethod
    def __call__(self, questions: Sequence[MultihopQuestion], found: Sequence[Found]) -> list[ReadAnswer]:
        """One answer for each question, in order."""


class LlmAnswers(Answers):
    """A language model reads the first passages."""

    def __init__(self, reader: PassageReader, corpus: Corpus) -> None:
        self.reader = reader
        self.corpus = corpus

    def __call__(self, questions: Sequence[MultihopQuestion], found: Sequence[Found]) -> list[ReadAnswer]:
        """See `Answers`."""
        passages = [[self.corpus[self.corpus.place[one]] for one in each.passages] for each in found]
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

    def __call__(self, questions: Sequence[MultihopQuestion], found: Sequence[Found]) -> list[ReadAnswer]:
        """See `Answers`."""
        from bgr.reader.linearise import linearise
        from bgr.reader.reader import ReaderInput

        started = time.perf_counter()
        if self.alone:
            structure = self.reader.settings.structure
            read = self.reader.read(
                [linearise(q.question, (), EvidenceGraph(), structure=structure) for q in questions]
            )
        else:
            pairs = zip(questions, found, strict=True)
            read = self.reader.answer([ReaderInput(q.question, self._facts(one), _graph(q, one)) for q, one in pairs])
        share = (time.perf_counter() - started) / max(1, len(questions))
        return [ReadAnswer(one.text, Usage(), share, {"step": "answer", "answer": one.text}) for one in read]

    def _facts(self, found: Found) -> tuple[str, ...]:
        return tuple(self.corpus[self.corpus.place[one]].whole for one in found.passages)


def _graph(question: MultihopQuestion, found: Found) -> EvidenceGraph:
    if found.graph is not None:
        return found.graph
    most = min(len(found.passages), len(question.gold) + question.missing)
    return EvidenceGraph((ROOT, place) for place in range(most))
