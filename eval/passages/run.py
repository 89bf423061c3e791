"""Run systems on questions; what is in the log is not run again."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tqdm import tqdm

from bgr.errors import BgrError
from bgr.multihop.data import MultihopData, MultihopQuestion
from bgr.passages import PassageResult, PassageRetriever
from bgr.search.interface import Search
from eval.passages.found import Found
from eval.passages.log import ResultLog, result_key


@dataclass(frozen=True)
class System:
    """Something to compare.

    Args:
        name: for tables.
        settings: all that decides its results, plain JSON values: part of the key under which they are kept.
        make: builds the retriever; called only where a question is left to run.
    """

    name: str
    settings: Mapping[str, Any]
    make: Callable[[], PassageRetriever]


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
        return [PassageResult(tuple(one.places.tolist()), tuple(one.scores.tolist()), seconds=seconds) for one in hits]


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
        retry: run questions again in which a step failed.
        progress: show a bar on standard error.

    Raises:
        BgrError: of the retriever; what was done before is kept.
    """
    key = result_key(data.corpus.hash, system.name, system.settings)
    found = {one.id: log.get(key, one.id, one.question) for one in data.questions}
    left = [one for one in data.questions if _is_left(found[one.id], retry)]
    with tqdm(total=len(data.questions), desc=system.name, unit="question", disable=not progress) as bar:
        bar.update(len(data.questions) - len(left))
        if left:
            retriever = system.make()
            for start in range(0, len(left), batch_size):
                batch = left[start : start + batch_size]
                for question, new in zip(batch, _retrieve(retriever, batch, data, system.name), strict=True):
                    log.add(key, system.name, question.question, new)
                    found[question.id] = new
                bar.update(len(batch))
    return [one for one in found.values() if one is not None]


def _is_left(found: Found | None, retry: bool) -> bool:
    return found is None or (retry and found.usage.failed > 0)


def _retrieve(
    retriever: PassageRetriever, batch: Sequence[MultihopQuestion], data: MultihopData, name: str
) -> list[Found]:
    results = retriever.retrieve([one.question for one in batch])
    if len(results) != len(batch):
        raise BgrError(f"{name}: {len(results)} results for {len(batch)} questions, allowed: one for each")
    return [Found.of(question, result, data.corpus) for question, result in zip(batch, results, strict=True)]
