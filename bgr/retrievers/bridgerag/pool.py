"""Step 4, the candidates of all searches as one pool, and step 6, ranks of judge and SVO cosine as one score."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from bgr.collection.search import Hits, Search, pit
from bgr.collection.vectors import DenseSearch
from bgr.llm.usage import Usage
from bgr.retrievers.bridgerag.steps import Entities
from bgr.retrievers.scope import Scope

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
