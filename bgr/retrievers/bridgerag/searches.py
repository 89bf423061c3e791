"""Steps 1 to 4 for many questions: three kinds of searches around two questions to the language model."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from bgr.collection.corpus import Corpus, Passage
from bgr.collection.search import Hits, Search
from bgr.llm.language_model import Asks, Read
from bgr.llm.usage import Usage
from bgr.retrievers.bridgerag.bridgerag_settings import BridgeSettings
from bgr.retrievers.bridgerag.pool import Pool, best_first, best_scores, svo_cosines, union
from bgr.retrievers.bridgerag.steps import (
    NONE,
    Entities,
    entities_request,
    queries_request,
    read_entities,
    read_queries,
)

Scores = dict[int, float]


@dataclass
class _Run:
    """One question on its way."""

    question: str
    first: Scores
    bridge: int | None
    queries: list[str] = field(default_factory=list)
    entities: Entities = NONE
    svo: Scores = field(default_factory=dict)
    named: Scores = field(default_factory=dict)
    usage: Usage = field(default_factory=Usage)
    trace: list[dict[str, Any]] = field(default_factory=list)

    def note(self, step: str, read: Read, **values: Any) -> None:
        self.usage += read.usage
        self.trace.append({"step": step, **values, "failure": read.failure, "usage": read.usage.to_json()})


class Pools:
    """Builds the pool of candidates.

    Fall-backs: where the model gives no query the question itself is the one query of the second hop; where it names no
    entity, or one, the others are not searched; where the first hop finds nothing the pool is empty, and the model is
    not asked.
    """

    def __init__(self, llm: Asks, corpus: Corpus, dense: Search, settings: BridgeSettings) -> None:
        self.llm, self.corpus, self.dense, self.settings = llm, corpus, dense, settings

    def __call__(self, questions: Sequence[str]) -> list[Pool]:
        """One pool for each question, in order; each step is one batch."""
        runs = self._start(questions)
        asked = [(run, self.corpus[run.bridge]) for run in runs if run.bridge is not None]
        self._ask_queries(asked)
        self._ask_entities(asked)
        return [self._pool(run) for run in runs]

    def _start(self, questions: Sequence[str]) -> list[_Run]:
        runs = []
        for question, hits in zip(questions, self._search(questions, self.settings.first), strict=True):
            first = best_first(best_scores([hits]), self.settings.first)
            run = _Run(question, first, next(iter(first), None))
            run.trace.append({"step": "first", "query": question, "found": _pairs(run.first), "bridge": run.bridge})
            runs.append(run)
        return runs

    def _ask_queries(self, asked: Sequence[tuple[_Run, Passage]]) -> None:
        requests = [queries_request(run.question, bridge, self.settings) for run, bridge in asked]
        reads = [read_queries(reply, self.settings.queries) for reply in (self.llm.ask(requests) if asked else [])]
        for (run, _), read in zip(asked, reads, strict=True):
            run.queries = read.value or [run.question]
        hits = iter(self._search([query for run, _ in asked for query in run.queries], self.settings.query_passages))
        for (run, _), read in zip(asked, reads, strict=True):
            run.svo = best_scores(_next(hits, len(run.queries)))
            found = _pairs(best_first(run.svo, self.settings.kept))
            run.note("queries", read, queries=read.value, searched=run.queries, found=found)

    def _ask_entities(self, asked: Sequence[tuple[_Run, Passage]]) -> None:
        requests = [entities_request(run.question, bridge, self.settings) for run, bridge in asked]
        reads = [read_entities(reply) for reply in (self.llm.ask(requests) if asked else [])]
        texts = [name for read in reads for name in read.value.named]
        hits = iter(self._search(texts, self.settings.entity_passages))
        for (run, _), read in zip(asked, reads, strict=True):
            run.entities = read.value
            run.named = best_scores(_next(hits, len(read.value.named)))
            run.note("entities", read, entities=list(read.value), found=_pairs(run.named))

    def _pool(self, run: _Run) -> Pool:
        best = union([run.first, best_first(run.svo, self.settings.kept), run.named], self.settings.pool)
        places, scores = tuple(best), tuple(best.values())
        svo = svo_cosines(self.dense, run.queries, places, run.svo)
        record = {"step": "pool", "places": list(places), "cosines": list(scores), "svo": list(svo)}
        trace = (*run.trace, record)
        return Pool(run.question, run.bridge, tuple(run.queries), run.entities, places, scores, svo, run.usage, trace)

    def _search(self, texts: Sequence[str], most: int) -> list[Hits]:
        return self.dense.search(texts, most) if texts else []


def _next(hits: Iterator[Hits], count: int) -> list[Hits]:
    return [next(hits) for _ in range(count)]


def _pairs(scores: Scores) -> list[list[float]]:
    return [[place, score] for place, score in scores.items()]
