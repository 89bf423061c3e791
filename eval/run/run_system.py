"""Run systems on questions over one corpus; results in the log are not computed again."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from tqdm import tqdm

from bgr.collection.corpus import Corpus
from bgr.data.multihop.assemble import MultihopData, MultihopQuestion
from bgr.errors import BgrError
from bgr.graph.evidence_graph import EvidenceGraph
from bgr.reader.passage_reader import ReadAnswer
from bgr.retrievers.base import Query, RetrievalResult, Retriever, star
from eval.run.passage_answers import Answers
from eval.run.question_result import QuestionResult
from eval.run.result_log import ResultLog, given_hash, result_key


@dataclass(frozen=True, kw_only=True)
class QuestionQuery(Query):
    """A query that knows its question, for bounds and for experiments that need the gold evidence. Retrievers that are
    compared do not look at it."""

    item: MultihopQuestion


@dataclass(frozen=True)
class System:
    """A system to compare.

    Args:
        name: for tables.
        settings: all that decides its results, plain JSON values: part of the key under which they are kept.
        make: builds the retriever; called only where a question is left.
        within: whether each question is searched for among the passages that come with it.
        answers: builds a reader whose answers replace the retriever's own.
    """

    name: str
    settings: Mapping[str, Any]
    make: Callable[[], Retriever]
    within: bool = False
    answers: Callable[[], Answers] | None = None


def query_of(question: MultihopQuestion, data: MultihopData, *, within: bool) -> QuestionQuery:
    """The query of a question over the whole corpus, or over the passages that come with it."""
    corpus = data.corpus
    candidates = [corpus[corpus.index_of[one]].whole for one in question.context] if within else None
    count = len(question.gold) + question.missing
    return QuestionQuery(question.question, candidates, count, item=question)


class Bound(Retriever):
    """The gold evidence, or none at all: with a reader, the upper and the lower bound.

    Args:
        corpus: the passages.
        gold: whether to give the gold evidence.
    """

    def __init__(self, corpus: Corpus, *, gold: bool) -> None:
        self.corpus = corpus
        self.gold = gold

    def retrieve(self, queries: Sequence[Query]) -> list[RetrievalResult]:
        """The gold passages of each query's question, with its graph where the data have one."""
        return [self._one(query) for query in queries]

    def _one(self, query: Query) -> RetrievalResult:
        if not self.gold or not isinstance(query, QuestionQuery):
            return RetrievalResult(EvidenceGraph())
        indices = [self.corpus.index_of[one] for one in query.item.gold]
        graph = query.item.graph
        return RetrievalResult(
            star(indices) if graph is None else graph.relabel(dict(enumerate(indices))),
            ranking=tuple((index, 1 / rank) for rank, index in enumerate(indices, 1)),
            searched=self.corpus,
            is_list=graph is None,
        )


def run_system(
    system: System,
    data: MultihopData,
    log: ResultLog,
    *,
    batch_size: int = 16,
    retry: bool = False,
    progress: bool = False,
) -> list[QuestionResult]:
    """One result for each question, in order; each batch is kept when it is done.

    Args:
        system: what is run.
        data: its questions, over its corpus.
        log: an open log; what it holds for this corpus, system and settings is taken from it.
        batch_size: questions that the retriever is given at a time.
        retry: run questions again in which a step failed; where no call was answered that was not before, and none
            fails less, the result stays that of the first time, with the seconds that it took.
        progress: show a bar on standard error.

    Raises:
        BgrError: of the retriever; what was done before is kept.
    """
    key = result_key(data.corpus.hash, system.name, system.settings)
    given = {one.id: given_hash(one, data) for one in data.questions}
    found = {one.id: _kept(log.get(key, one.id, one.question, given[one.id]), data) for one in data.questions}
    left = [one for one in data.questions if _is_left(found[one.id], retry)]
    with tqdm(total=len(data.questions), desc=system.name, unit="question", disable=not progress) as bar:
        bar.update(len(data.questions) - len(left))
        if left:
            batches = [left[start : start + batch_size] for start in range(0, len(left), batch_size)]
            run = _Run(system, data)
            for batch in batches:
                for question, new in zip(batch, run(batch), strict=True):
                    if _is_news(new, found[question.id]):
                        log.add(key, system.name, question.question, given[question.id], new)
                        found[question.id] = new
                bar.update(len(batch))
    return [one for one in found.values() if one is not None]


class _Run:
    """A system at work: the retriever, then the reader."""

    def __init__(self, system: System, data: MultihopData) -> None:
        self.data, self.within = data, system.within
        self.retriever = system.make()
        self.answers = None if system.answers is None else system.answers()
        self.ids = () if self.within else tuple(passage.id for passage in data.corpus)

    def __call__(self, questions: Sequence[MultihopQuestion]) -> list[QuestionResult]:
        """One result for each question.

        Raises:
            BgrError: the retriever has another number of results than of questions.
        """
        started = time.perf_counter()
        results = self.retriever.retrieve([query_of(one, self.data, within=self.within) for one in questions])
        share = (time.perf_counter() - started) / max(1, len(questions))
        if len(results) != len(questions):
            raise BgrError(f"{len(results)} results for {len(questions)} questions, allowed: one for each")
        found = [self._result(*pair, share) for pair in zip(questions, results, strict=True)]
        if self.answers is None:
            return found
        return [_answered(*pair) for pair in zip(found, self.answers(questions, found), strict=True)]

    def _result(self, question: MultihopQuestion, result: RetrievalResult, seconds: float) -> QuestionResult:
        ids = question.context if self.within else self.ids
        return QuestionResult.of(question.id, replace(result, seconds=result.seconds or seconds), ids)


def _answered(found: QuestionResult, answer: ReadAnswer) -> QuestionResult:
    usage, seconds = found.usage + answer.usage, found.seconds + answer.seconds
    return replace(found, answer=answer.text, usage=usage, seconds=seconds, trace=(*found.trace, answer.step))


def _kept(found: QuestionResult | None, data: MultihopData) -> QuestionResult | None:
    """The result, unless it names passages that do not exist: then its line is damaged."""
    return found if found is not None and all(one in data.corpus.index_of for one in found.passages) else None


def _is_news(new: QuestionResult, old: QuestionResult | None) -> bool:
    """True where a second try gave more than the first: with replies from a cache alone it only looks faster."""
    return old is None or new.usage.calls > 0 or new.usage.failed < old.usage.failed


def _is_left(found: QuestionResult | None, retry: bool) -> bool:
    return found is None or (retry and found.usage.failed > 0)
