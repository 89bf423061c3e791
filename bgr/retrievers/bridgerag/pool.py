"""The pool of candidates: steps 1 to 4 for many questions (three kinds of searches around two calls of the language
model), and step 6, ranks of judge and SVO cosine as one score.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Any, NamedTuple

import numpy as np

from bgr.collection.corpus import Passage
from bgr.collection.search import Hits, Search, pit
from bgr.collection.vectors import DenseSearch
from bgr.llm.language_model import LanguageModel, ParsedReply
from bgr.llm.usage import Usage
from bgr.retrievers.bridgerag.bridgerag_settings import BridgeSettings
from bgr.retrievers.bridgerag.steps import (
    NONE,
    Entities,
    entities_request,
    queries_request,
    read_entities,
    read_queries,
)
from bgr.retrievers.scope import Scope, search_scopes

DIGITS = 12
"""Digits of a fused score: sums that differ by rounding alone are equal, and rank by index."""


class Fused(NamedTuple):
    """Percentile ranks and their mixture, ``float64 [n]`` each; no ranks of a judge that gave no scores."""

    judge: np.ndarray | None
    svo: np.ndarray
    scores: np.ndarray


def fuse(judge: Sequence[float] | None, svo: Sequence[float | None], alpha: float) -> Fused:
    """``f(c) = (1 − α) · PIT(judge, c) + α · PIT(SVO cosine, c)``; the second alone where there are no judge's scores.

    Args:
        judge: a score for each candidate, of any scale.
        svo: best cosine to a second-hop query; ``None``, where it is not known, counts as lowest.
        alpha: weight of the cosine, 0 … 1.
    """
    cosine = pit([-math.inf if value is None else value for value in svo])
    if judge is None:
        return Fused(None, cosine, cosine)
    ranks = pit(judge)
    return Fused(ranks, cosine, np.round((1 - alpha) * ranks + alpha * cosine, DIGITS))


def ranked(indices: Sequence[int], scores: Sequence[float] | np.ndarray) -> list[int]:
    """Positions in `indices`, highest score first, equal scores by index."""
    return sorted(range(len(indices)), key=lambda n: (-float(scores[n]), indices[n]))


@dataclass(frozen=True)
class Pool:
    """The candidates of one question after steps 1 to 4; the judge's conditions are compared on it.

    Args:
        question: its text.
        scope: the passages that were searched.
        bridge: index of the best passage of the first hop; ``None`` where that found nothing.
        queries: of the second hop, as they were searched.
        entities: that the model named.
        indices: of the candidates, by best cosine over all searches, falling.
        cosines: that best cosine.
        svo: best cosine to a query of the second hop; ``None`` where it is not known.
        usage: of the calls so far.
        trace: a record of each step so far.
    """

    question: str
    scope: Scope
    bridge: int | None
    queries: tuple[str, ...]
    entities: Entities
    indices: tuple[int, ...]
    cosines: tuple[float, ...]
    svo: tuple[float | None, ...]
    usage: Usage
    trace: tuple[dict[str, Any], ...]

    def ranking(self, fused: Fused) -> tuple[tuple[int, float], ...]:
        """The candidates' indices with their fused scores, best first."""
        order = ranked(self.indices, fused.scores)
        return tuple((self.indices[n], float(fused.scores[n])) for n in order)


def best_scores(found: Iterable[Hits]) -> dict[int, float]:
    """The best score of each index over several searches, in order of first appearance."""
    best: dict[int, float] = {}
    for hits in found:
        for index, score in zip(hits.indices.tolist(), hits.scores.tolist(), strict=True):
            best[index] = max(score, best.get(index, score))
    return best


def best_first(scores: Mapping[int, float], max_count: int) -> dict[int, float]:
    """The `max_count` best indices with their scores, falling, equal scores by index."""
    indices = sorted(scores, key=lambda index: (-scores[index], index))
    return {index: scores[index] for index in indices[:max_count]}


def union(parts: Sequence[Mapping[int, float]], max_count: int) -> dict[int, float]:
    """The `max_count` best indices of several lists, each once, by its best score."""
    best: dict[int, float] = {}
    for part in parts:
        for index, score in part.items():
            best[index] = max(score, best.get(index, score))
    return best_first(best, max_count)


def svo_cosines(
    search: Search | None, queries: Sequence[str], indices: Sequence[int], found: Mapping[int, float]
) -> tuple[float | None, ...]:
    """The best cosine of each candidate to a second-hop query.

    Where the search holds vectors they are computed for every candidate, whichever search found it; else only what the
    searches of the queries `found` is known.
    """
    if not isinstance(search, DenseSearch) or not indices or not queries:
        return tuple(found.get(index) for index in indices)
    return tuple(cosines(search, queries, indices).max(axis=0).tolist())


def cosines(search: DenseSearch, texts: Sequence[str], indices: Sequence[int]) -> np.ndarray:
    """The cosine of each text with each passage, ``float32 [texts, indices]``, added up as the search does."""
    vectors = search.vectors.take(np.array(indices, dtype=np.int64)).astype(np.float64)  # [n, d]
    encoded = np.asarray(search.encoder(texts)).astype(np.float64)  # [q, d]
    return np.stack([(vectors * vector).sum(axis=1) for vector in encoded]).astype(np.float32)


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
