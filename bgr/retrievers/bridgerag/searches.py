"""Steps 1 to 4 for many questions: three kinds of searches around two calls of the language model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

from bgr.collection.corpus import Passage
from bgr.collection.search import Hits
from bgr.llm.language_model import LanguageModel, ParsedReply
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
from bgr.retrievers.scope import Scope, search_scopes

Scores = dict[int, float]


@dataclass
class _Run:
    """The state of one question."""

    question: str
    scope: Scope
    first: Scores
    bridge: int | None
    queries: list[str] = field(default_factory=list)
    entities: Entities = NONE
    svo: Scores = field(default_factory=dict)
    named: Scores = field(default_factory=dict)
    usage: Usage = field(default_factory=Usage)
    trace: list[dict[str, Any]] = field(default_factory=list)

    def note(self, step: str, read: ParsedReply, **values: Any) -> None:
        self.usage += read.usage
        self.trace.append({"step": step, **values, "failure": read.failure, "usage": read.usage.to_json()})


class Pools:
    """Builds the pool of candidates.

    Fall-backs: where the model gives no query the question itself is the one query of the second hop; where it names no
    entity, or one, the others are not searched; where the first hop finds nothing the pool is empty, and the model is
    not asked.
    """

    def __init__(self, llm: LanguageModel, settings: BridgeSettings) -> None:
        self.llm, self.settings = llm, settings

    def __call__(self, questions: Sequence[str], scopes: Sequence[Scope]) -> list[Pool]:
        """One pool for each question, in order; each step is one batch."""
        runs = self._start(questions, scopes)
        asked = [(run, run.scope.corpus[run.bridge]) for run in runs if run.bridge is not None]
        self._ask_queries(asked)
        self._ask_entities(asked)
        return [self._pool(run) for run in runs]

    def _start(self, questions: Sequence[str], scopes: Sequence[Scope]) -> list[_Run]:
        runs = []
        found = search_scopes(scopes, questions, self.settings.first)
        for question, scope, hits in zip(questions, scopes, found, strict=True):
            first = best_first(best_scores([hits]), self.settings.first)
            run = _Run(question, scope, first, next(iter(first), None))
            run.trace.append({"step": "first", "query": question, "found": _pairs(run.first), "bridge": run.bridge})
            runs.append(run)
        return runs

    def _ask_queries(self, asked: Sequence[tuple[_Run, Passage]]) -> None:
        requests = [queries_request(run.question, bridge, self.settings) for run, bridge in asked]
        reads = [read_queries(reply, self.settings.queries) for reply in (self.llm.ask(requests) if asked else [])]
        for (run, _), read in zip(asked, reads, strict=True):
            run.queries = read.value or [run.question]
        runs = [run for run, _ in asked]
        hits = _search_each(runs, [run.queries for run in runs], self.settings.query_passages)
        for run, read, found_by in zip(runs, reads, hits, strict=True):
            run.svo = best_scores(found_by)
            found = _pairs(best_first(run.svo, self.settings.kept))
            run.note("queries", read, queries=read.value, searched=run.queries, found=found)

    def _ask_entities(self, asked: Sequence[tuple[_Run, Passage]]) -> None:
        requests = [entities_request(run.question, bridge, self.settings) for run, bridge in asked]
        reads = [read_entities(reply) for reply in (self.llm.ask(requests) if asked else [])]
        runs = [run for run, _ in asked]
        hits = _search_each(runs, [read.value.named for read in reads], self.settings.entity_passages)
        for run, read, found_by in zip(runs, reads, hits, strict=True):
            run.entities = read.value
            run.named = best_scores(found_by)
            run.note("entities", read, entities=list(read.value), found=_pairs(run.named))

    def _pool(self, run: _Run) -> Pool:
        best = union([run.first, best_first(run.svo, self.settings.kept), run.named], self.settings.pool)
        indices, scores = tuple(best), tuple(best.values())
        svo = svo_cosines(run.scope.search, run.queries, indices, run.svo)
        record = {"step": "pool", "places": list(indices), "cosines": list(scores), "svo": list(svo)}
        return Pool(
            question=run.question,
            scope=run.scope,
            bridge=run.bridge,
            queries=tuple(run.queries),
            entities=run.entities,
            indices=indices,
            cosines=scores,
            svo=svo,
            usage=run.usage,
            trace=(*run.trace, record),
        )


def _search_each(runs: Sequence[_Run], texts: Sequence[Sequence[str]], k: int) -> list[list[Hits]]:
    """The hits of several texts for each question, in its own scope."""
    scopes = [run.scope for run, mine in zip(runs, texts, strict=True) for _ in mine]
    hits = iter(search_scopes(scopes, [text for mine in texts for text in mine], k))
    return [list(islice(hits, len(mine))) for mine in texts]


def _pairs(scores: Scores) -> list[list[float]]:
    return [[index, score] for index, score in scores.items()]
