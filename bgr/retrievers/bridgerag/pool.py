"""The pool of candidates: steps 1 to 4 for many questions (three kinds of searches and two calls of the language
model), and step 6, the fusion of the ranks by judge and SVO cosine.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import NamedTuple

import numpy as np

from bgr.collection.search import Hits, Search, pit
from bgr.collection.vectors import DenseSearch, encode_queries
from bgr.llm.language_model import LanguageModel, Reply
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

    The judge's scores are of any scale; a cosine of ``None`` (unknown) counts as lowest; α is in [0, 1].
    """
    cosine = pit([-math.inf if value is None else value for value in svo])
    if judge is None:
        return Fused(None, cosine, cosine)
    ranks = pit(judge)
    return Fused(ranks, cosine, np.round((1 - alpha) * ranks + alpha * cosine, DIGITS))


def ranked(indices: Sequence[int], scores: Sequence[float] | np.ndarray) -> list[int]:
    """Positions in `indices`, highest score first, equal scores by index."""
    return sorted(range(len(indices)), key=lambda n: (-float(scores[n]), indices[n]))


Scores = dict[int, float]
"""The best score of each index."""


@dataclass
class Pool(LlmRun):
    """The candidates of one question, filled by steps 1 to 4; the judge's conditions are compared on it.

    Args:
        first: passages of the first hop, best first.
        bridge: index of the best of them; ``None`` if there is none.
        queries: the queries that are searched in the second hop.
        second: passages of the second hop, each with its best score.
        named: passages of the searches for entities.
        indices: indices of the candidates, by decreasing best cosine over all searches.
        svo: best cosine of each candidate to a query of the second hop; ``None`` if unknown.
    """

    question: str
    scope: Scope
    first: Scores
    bridge: int | None
    queries: Sequence[str] = ()
    second: Scores = field(default_factory=dict)
    entities: Entities = NONE
    named: Scores = field(default_factory=dict)
    indices: tuple[int, ...] = ()
    svo: tuple[float | None, ...] = ()

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
    encoded = np.asarray(encode_queries(search.encoder, texts)).astype(np.float64)  # [q, d]
    return np.stack([(vectors * vector).sum(axis=1) for vector in encoded]).astype(np.float32)


class Pools:
    """Builds the pool of candidates.

    If the model gives no query, the question itself is the only query of the second hop. An entity that it does not
    name is not searched. If the first hop finds nothing, the pool is empty, and the model is not asked.
    """

    def __init__(self, llm: LanguageModel, settings: BridgeSettings) -> None:
        self.llm, self.settings = llm, settings

    def __call__(self, questions: Sequence[str], scopes: Sequence[Scope]) -> list[Pool]:
        """One pool for each question, in order; each step is one batch."""
        pools = self._start(questions, scopes)
        asked = [pool for pool in pools if pool.bridge is not None]
        replies = self._ask(asked)
        self._add_queries(asked, replies[: len(asked)])
        self._add_entities(asked, replies[len(asked) :])
        for pool in pools:
            self._fill(pool)
        return pools

    def _start(self, questions: Sequence[str], scopes: Sequence[Scope]) -> list[Pool]:
        pools = []
        found = search_scopes(scopes, questions, self.settings.first)
        for question, scope, hits in zip(questions, scopes, found, strict=True):
            first = best_first(best_scores([hits]), self.settings.first)
            pool = Pool(question, scope, first, next(iter(first), None))
            pool.trace.append({"step": "first", "query": question, "found": _rows(pool.first), "bridge": pool.bridge})
            pools.append(pool)
        return pools

    def _ask(self, pools: Sequence[Pool]) -> list[Reply]:
        """The replies with the queries for each question and its bridge, then those with the entities."""
        pairs = [(pool.question, pool.scope.corpus[pool.bridge]) for pool in pools if pool.bridge is not None]
        queries, entities = (
            [make(*pair, self.settings) for pair in pairs] for make in (queries_request, entities_request)
        )
        if self.llm.concurrency > 1 and pairs:  # side by side: neither needs the other
            return self.llm.ask([*queries, *entities])
        # the prompts of one step begin alike, which a local model reads once for a batch
        return [*self.llm.ask(queries), *self.llm.ask(entities)] if pairs else []

    def _add_queries(self, pools: Sequence[Pool], replies: Sequence[Reply]) -> None:
        reads = [read_queries(reply, self.settings.queries) for reply in replies]
        for pool, read in zip(pools, reads, strict=True):
            pool.queries = read.value or [pool.question]
        hits = _search_each(pools, [pool.queries for pool in pools], self.settings.query_passages)
        for pool, read, found_by in zip(pools, reads, hits, strict=True):
            pool.second = best_scores(found_by)
            found = _rows(best_first(pool.second, self.settings.kept))
            pool.note("queries", read, queries=read.value, searched=pool.queries, found=found)

    def _add_entities(self, pools: Sequence[Pool], replies: Sequence[Reply]) -> None:
        reads = [read_entities(reply) for reply in replies]
        hits = _search_each(pools, [read.value.named for read in reads], self.settings.entity_passages)
        for pool, read, found_by in zip(pools, reads, hits, strict=True):
            pool.entities = read.value
            pool.named = best_scores(found_by)
            pool.note("entities", read, entities=list(read.value), found=_rows(pool.named))

    def _fill(self, pool: Pool) -> None:
        best = union([pool.first, best_first(pool.second, self.settings.kept), pool.named], self.settings.pool)
        pool.indices = tuple(best)
        pool.svo = svo_cosines(pool.scope.search, pool.queries, pool.indices, pool.second)
        record = {"step": "pool", "places": list(best), "cosines": list(best.values()), "svo": list(pool.svo)}
        pool.trace.append(record)


def _search_each(pools: Sequence[Pool], texts: Sequence[Sequence[str]], k: int) -> list[list[Hits]]:
    """The hits of several texts for each question, in its own scope."""
    scopes = [pool.scope for pool, mine in zip(pools, texts, strict=True) for _ in mine]
    hits = iter(search_scopes(scopes, [text for mine in texts for text in mine], k))
    return [list(islice(hits, len(mine))) for mine in texts]


def _rows(scores: Scores) -> list[list[float]]:
    return [[index, score] for index, score in scores.items()]
