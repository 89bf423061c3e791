"""Run systems on questions; what is in the log is not run again."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tqdm import tqdm

from bgr.collection.search import Search
from bgr.data.multihop.assemble import MultihopData
from bgr.retrievers.base import PassageResult, PassageRetriever
from eval.passages.found import Found
from eval.passages.log import ResultLog, given_hash, result_key
from eval.passages.runners import OverCorpus, Runner


@dataclass(frozen=True)
class System:
    """Something to compare.

    Args:
        name: for tables.
        settings: all that decides its results, plain JSON values: part of the key under which they are kept.
        make: builds what is run, a retriever over the data's corpus or a `Runner`; called only where a question is
            left.
    """

    name: str
    settings: Mapping[str, Any]
    make: Callable[[], PassageRetriever | Runner]


class SearchRetriever(PassageRetriever):
    """A base search as a retriever: its first `k` passages. Seconds are those of the batch, shared alike."""

    def __init__(self, search: Search, k: int) -> None:
        self.search = search
        self.k = k

    def retrieve(self, questions: Sequence[str]) -> list[PassageResult]:
        """One result for each question, in order."""
        start = time.perf_counter()
        hits = self.search.search(questions, self.k)
        seconds = (time.perf_counter() - start) / max(len(questions), 1)
        return [PassageResult(tuple(one.indices.tolist()), tuple(one.scores.tolist()), seconds=seconds) for one in hits]


def run_system(
    system: System,
    data: MultihopData,
    log: ResultLog,
    *,
    batch_size: int = 16,
    retry: bool = False,
    progress: bool = False,
) -> list[Found]:
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
            made = system.make()
            runner = made if isinstance(made, Runner) else OverCorpus(made, data.corpus)
            for start in range(0, len(left), batch_size):
                batch = left[start : start + batch_size]
                for question, new in zip(batch, runner.run(batch), strict=True):
                    if _is_news(new, found[question.id]):
                        log.add(key, system.name, question.question, given[question.id], new)
                        found[question.id] = new
                bar.update(len(batch))
    return [one for one in found.values() if one is not None]


def _kept(found: Found | None, data: MultihopData) -> Found | None:
    """The result, unless it names passages that are not there: then its line is damaged."""
    return found if found is not None and all(one in data.corpus.index_of for one in found.passages) else None


def _is_news(new: Found, old: Found | None) -> bool:
    """Whether a second try gave more than the first: with replies from a cache alone it only looks faster."""
    return old is None or new.usage.calls > 0 or new.usage.failed < old.usage.failed


def _is_left(found: Found | None, retry: bool) -> bool:
    return found is None or (retry and found.usage.failed > 0)
