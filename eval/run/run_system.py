"""Run systems on questions over one corpus; a log stores the results, so that an interrupted run resumes where it
stopped."""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, BinaryIO

from filelock import FileLock, Timeout
from tqdm import tqdm

from bgr.collection.corpus import Corpus
from bgr.data.multihop.assemble import MultihopData, MultihopQuestion
from bgr.errors import BgrError, DataError
from bgr.graph.evidence_graph import EvidenceGraph
from bgr.llm.failures import FailureLimit, failure_in
from bgr.llm.options import MAX_FAILURE_SHARE
from bgr.retrievers.base import Query, RetrievalResult, Retriever, star
from bgr.utils.atomic_io import writing
from bgr.utils.hashing import hash_texts
from bgr.utils.json_utils import parse_json
from bgr.utils.workers import each_of
from eval.run.passage_answers import Answers, ReadAnswer
from eval.run.question_result import QuestionResult


@dataclass(frozen=True, kw_only=True)
class QuestionQuery(Query):
    """A query with its question, for bounds and for experiments that need the gold evidence. Retrievers that are
    compared do not look at the question."""

    item: MultihopQuestion


@dataclass(frozen=True)
class System:
    """A system to compare. `settings` is everything that its results depend on, as plain JSON values; it is part of the
    key of stored results. `make` builds the retriever and is called only if a question is left to run. With `within`,
    each question is searched for only among the passages that come with it; the reader that `answers` builds replaces
    the retriever's answers."""

    name: str
    settings: Mapping[str, Any]
    make: Callable[[], Retriever]
    within: bool = False
    answers: Callable[[], Answers] | None = None


def query_of(question: MultihopQuestion, data: MultihopData, *, within: bool) -> QuestionQuery:
    """The query of a question over the whole corpus, or `within` the passages that come with it."""
    corpus = data.corpus
    candidates = [corpus[corpus.index_of[one]].whole for one in question.context] if within else None
    count = len(question.gold) + question.missing
    return QuestionQuery(question.question, candidates, count, item=question)


class Bound(Retriever):
    """The gold evidence, with its graph if the data have one, or no evidence: with a reader, the upper and the lower
    bound."""

    def __init__(self, corpus: Corpus, *, gold: bool) -> None:
        self.corpus = corpus
        self.gold = gold

    def retrieve(self, queries: Sequence[Query]) -> list[RetrievalResult]:
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


def given_hash(question: MultihopQuestion, data: MultihopData) -> str:
    """The hash of all that comes with a question besides its text: systems may be given its passages and their
    sentences, its gold evidence, or the number of gold passages."""
    graph = question.graph.to_json() if question.graph is not None else None
    sentences = [data.sentences.get(one) for one in question.context]
    parts = [question.context, sentences, question.gold, question.missing, graph]
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:20]


class ResultLog:
    """A file of JSON lines, one line for each question and system, written as results come; a context manager.

    A line that is damaged, or cut off because the process was killed, is ignored: its question is run again. Lines of
    other keys (another corpus, other settings) stay in the file. A line of an older version does not say what came with
    its question and is valid for anything that comes with it.

    Raises:
        BgrError: another process has the file open.
        DataError: the file cannot be read or written.
    """

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        self._lock = FileLock(self.path.with_suffix(".lock"))
        self._found: dict[tuple[str, str, str, str | None], QuestionResult] = {}
        self._file: BinaryIO | None = None

    def __enter__(self) -> ResultLog:
        try:
            self._lock.acquire(timeout=0)
        except Timeout:
            raise BgrError(f"{self.path}: another process writes it; wait for it, or give another folder") from None
        except OSError as error:
            raise DataError(f"{self.path}: cannot be written: {error.strerror or error}") from None
        try:
            self._file = self.path.open("ab+")
            self._read(self._file)
        except BaseException as error:
            self.__exit__()
            if isinstance(error, OSError):
                raise DataError(f"{self.path}: cannot be read: {error.strerror or error}") from None
            raise
        return self

    def __exit__(self, *_: object) -> None:
        if self._file is not None:
            self._file.close()
        self._lock.release()

    def get(self, key: str, id: str, question: str, given: str) -> QuestionResult | None:
        """The stored result of a question, by key, id, text and `given_hash`."""
        stored = self._found.get((key, id, question, given))
        return stored if stored is not None else self._found.get((key, id, question, None))

    def add(self, key: str, system: str, question: str, given: str, found: QuestionResult) -> None:
        """Store a result: it is on disk when this returns, even if the process is killed afterwards."""
        if self._file is None:
            raise BgrError(f"{self.path}: the log is not open, allowed: inside its with block")
        about = {"key": key, "system": system, "question": question, "given": given}
        line = json.dumps({**about, **found.to_json()}, ensure_ascii=False)
        with writing(self.path):
            self._file.write(line.encode() + b"\n")
            self._file.flush()
        self._found[key, found.id, question, given] = found

    def _read(self, file: BinaryIO) -> None:
        file.seek(0)
        whole = 0
        for line in file:
            if not line.endswith(b"\n"):
                file.truncate(whole)  # so that the next line does not join the one that was cut off
                break
            whole += len(line)
            with suppress(DataError, UnicodeDecodeError, KeyError):
                record = parse_json(line.decode(), str(self.path))
                found = QuestionResult.from_json(record)
                given = str(record["given"]) if "given" in record else None
                self._found[str(record["key"]), found.id, str(record["question"]), given] = found
        file.seek(0, 2)


def run_system(
    system: System,
    data: MultihopData,
    log: ResultLog,
    *,
    batch_size: int = 16,
    max_failure_share: float = MAX_FAILURE_SHARE,
    progress: bool = False,
) -> list[QuestionResult]:
    """One result for each question, in order. Results are stored in the open `log` after each batch, and those that it
    holds for this corpus, system and settings are not computed again, unless a step failed. If no model was called and
    no fewer steps failed, the first result stays, with the seconds that it took.

    A batch has `batch_size` questions, or one if the retriever asks a server; as many are in work as keep it busy.

    Raises:
        BgrError: of the retriever, or it returned too many or too few results, or calls of more than
            `max_failure_share` of the questions were not answered; finished batches are stored.
    """
    # everything that a result depends on besides its question
    key = hash_texts(data.corpus.hash, system.name, json.dumps(system.settings, sort_keys=True))[:20]
    given = {one.id: given_hash(one, data) for one in data.questions}
    found = {one.id: log.get(key, one.id, one.question, given[one.id]) for one in data.questions}
    for id, old in found.items():
        if old is not None and not all(passage in data.corpus.index_of for passage in old.passages):
            found[id] = None  # the line is damaged
    left = [one for one in data.questions if (old := found[one.id]) is None or old.usage.failed > 0]
    limit = FailureLimit(max_failure_share, len(data.questions))
    with tqdm(total=len(data.questions), desc=system.name, unit="question", disable=not progress) as bar:
        bar.update(len(data.questions) - len(left))
        for batch in _run_batches(system, data, left, batch_size) if left else ():
            for question, new in batch:
                old = found[question.id]
                # replies from the cache alone say nothing new: the second try would only look faster
                if old is None or new.usage.calls > 0 or new.usage.failed < old.usage.failed:
                    log.add(key, system.name, question.question, given[question.id], new)
                    found[question.id] = new
                limit.add(int(new.usage.unanswered > 0), failure_in(new.trace))
            bar.update(len(batch))
    return [one for one in found.values() if one is not None]


def _run_batches(
    system: System, data: MultihopData, questions: Sequence[MultihopQuestion], batch_size: int
) -> Iterator[list[tuple[MultihopQuestion, QuestionResult]]]:
    """The questions of each batch with their results, of the retriever, then of the reader, as they come."""
    retriever = system.make()
    read = None if system.answers is None else system.answers()
    everything = () if system.within else tuple(passage.id for passage in data.corpus)
    # a retriever that asks a server takes each question on its own; a reader may ask one, too
    size = batch_size if retriever.concurrency == 1 else 1
    workers = max(retriever.concurrency, -(-getattr(read, "concurrency", 1) // size))

    def run(batch: Sequence[MultihopQuestion]) -> list[tuple[MultihopQuestion, QuestionResult]]:
        started = time.perf_counter()
        results = retriever.retrieve([query_of(one, data, within=system.within) for one in batch])
        share = (time.perf_counter() - started) / len(batch)
        if len(results) != len(batch):
            raise BgrError(f"{len(results)} results for {len(batch)} questions, allowed: one for each")
        found = []
        for question, result in zip(batch, results, strict=True):
            ids = question.context if system.within else everything
            found.append(QuestionResult.of(question.id, replace(result, seconds=result.seconds or share), ids))
        if read is not None:
            found = [_answered(*pair) for pair in zip(found, read(batch, found), strict=True)]
        return list(zip(batch, found, strict=True))

    batches = [questions[start : start + size] for start in range(0, len(questions), size)]
    with closing(each_of(run, batches, workers)) as results:
        yield from (result for _, result in results)


def _answered(found: QuestionResult, answer: ReadAnswer) -> QuestionResult:
    usage, seconds = found.usage + answer.usage, found.seconds + answer.seconds
    return replace(found, answer=answer.text, usage=usage, seconds=seconds, trace=(*found.trace, answer.step))
