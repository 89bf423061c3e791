"""The pool of candidates: steps 1 to 4 for many questions (three kinds of searches and two calls of the language
model), and step 6, the fusion of the ranks by judge and SVO cosine.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Any, NamedTuple

import numpy as np

from bgr.collection.corpus import Passage
from bgr.collection.search import Hits, Search, pit
from bgr.collection.vectors import DenseSearch
from bgr.llm.interface import Request
from bgr.llm.language_model import LanguageModel, Reply
from bgr.llm.usage import Usage
from bgr.retrievers.bridgerag.steps import (
    NONE,
    BridgeSettings,
    Entities,
    entities_request,
    queries_request,
    read_entities,
    read_queries,
)
from bgr.retrievers.llm_retriever import LlmRun
from bgr.retrievers.scope import Scope, pairs, search_scopes

DIGITS = 12
"""Digits of a fused score, so that sums that differ only by rounding are equal, and rank by index."""


class Fused(NamedTuple):
    """Percentile ranks and their mixture, ``float64 [n]`` each; `judge` is ``None`` if it gave no scores."""

    judge: np.ndarray | None
    svo: np.ndarray
    scores: np.ndarray


def fuse(judge: Sequence[float] | None, svo: Sequence[float | None], alpha: float) -> Fused:
    """``f(c) = (1 − α) · PIT(judge, c) + α · PIT(SVO cosine, c)``; only the second without scores of the judge.

    Args:
        judge: a score for each candidate, of any scale.
        svo: best cosine to a second-hop query; ``None`` (unknown) counts as lowest.
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
        question: the question's text.
        scope: the passages that were searched.
        bridge: index of the best passage of the first hop; ``None`` if that found nothing.
        queries: the queries that were searched in the second hop.
        entities: the entities that the model named.
        indices: indices of the candidates, by decreasing best cosine over all searches.
        cosines: that best cosine.
        svo: best cosine to a query of the second hop; ``None`` if unknown.
        usage: usage of the calls so far.
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
        for index, score in pairs(hits):
            best[index] = max(score, best.get(index, score))
    return best


def best_first(scores: Mapping[int, float], max_count: int) -> dict[int, float]:
    """The `max_count` best indices with their scores, in decreasing order, equal scores by index."""
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

    If the search has vectors, it is computed for every candidate; otherwise only the scores that the searches of the
    queries `found` are known.
    """
    if not isinstance(search, DenseSearch) or not indices or not queries:
        return tuple(found.get(index) for index in indices)
    return tuple(cosines(search, queries, indices).max(axis=0).tolist())


def cosines(search: DenseSearch, texts: Sequence[str], indices: Sequence[int]) -> np.ndarray:
    """The cosine of each text with each passage, ``float32 [texts, indices]``, summed in the order of the search."""
    vectors = search.vectors.take(np.array(indices, dtype=np.int64)).astype(np.float64)  # [n, d]
    encoded = np.asarray(search.encoder(texts)).astype(np.float64)  # [q, d]
    return np.stack([(vectors * vector).sum(axis=1) for vector in encoded]).astype(np.float32)


Scores = dict[int, float]


@dataclass
class _Run(LlmRun):
    """The state of one question."""

    question: str
    scope: Scope
    first: Scores
    bridge: int | None
    queries: list[str] = field(default_factory=list)
    entities: Entities = NONE
    svo: Scores = field(default_factory=dict)
    named: Scores = field(default_factory=dict)


class Pools:
    """Builds the pool of candidates.

    If the model gives no query, the question itself is the only query of the second hop. An entity that it does not
    name is not searched. If the first hop finds nothing, the pool is empty, and the model is not asked.
    """

    def __init__(self, llm: LanguageModel, settings: BridgeSettings) -> None:
        self.llm, self.settings = llm, settings

    def __call__(self, questions: Sequence[str], scopes: Sequence[Scope]) -> list[Pool]:
        """One pool for each question, in order; each step is one batch."""
        runs = self._start(questions, scopes)
        asked = [run for run in runs if run.bridge is not None]
        self._ask_queries(asked)
        self._ask_entities(asked)
        return [self._pool(run) for run in runs]

    def _start(self, questions: Sequence[str], scopes: Sequence[Scope]) -> list[_Run]:
        runs = []
        found = search_scopes(scopes, questions, self.settings.first)
        for question, scope, hits in zip(questions, scopes, found, strict=True):
            first = best_first(best_scores([hits]), self.settings.first)
            run = _Run(question, scope, first, next(iter(first), None))
            run.trace.append({"step": "first", "query": question, "found": _rows(run.first), "bridge": run.bridge})
            runs.append(run)
        return runs

    def _ask(self, runs: Sequence[_Run], request: Callable[[str, Passage, BridgeSettings], Request]) -> list[Reply]:
        """One reply for each question and its bridge."""
        requests = [
            request(run.question, run.scope.corpus[run.bridge], self.settings) for run in runs if run.bridge is not None
        ]
        return self.llm.ask(requests) if requests else []

    def _ask_queries(self, runs: Sequence[_Run]) -> None:
        reads = [read_queries(reply, self.settings.queries) for reply in self._ask(runs, queries_request)]
        for run, read in zip(runs, reads, strict=True):
            run.queries = read.value or [run.question]
        hits = _search_each(runs, [run.queries for run in runs], self.settings.query_passages)
        for run, read, found_by in zip(runs, reads, hits, strict=True):
            run.svo = best_scores(found_by)
            found = _rows(best_first(run.svo, self.settings.kept))
            run.note("queries", read, queries=read.value, searched=run.queries, found=found)

    def _ask_entities(self, runs: Sequence[_Run]) -> None:
        reads = [read_entities(reply) for reply in self._ask(runs, entities_request)]
        hits = _search_each(runs, [read.value.named for read in reads], self.settings.entity_passages)
        for run, read, found_by in zip(runs, reads, hits, strict=True):
            run.entities = read.value
            run.named = best_scores(found_by)
            run.note("entities", read, entities=list(read.value), found=_rows(run.named))

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


def _rows(scores: Scores) -> list[list[float]]:
    return [[index, score] for index, score in scores.items()]
