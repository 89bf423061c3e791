"""Step 4: the candidates of all searches as one pool.

Step 6: percentile ranks of judge and SVO cosine in one score.
"""

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

DIGITS = 12
"""Of a fused score: sums that differ by rounding alone are equal, and go by place."""


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


def ranked(places: Sequence[int], scores: Sequence[float] | np.ndarray) -> list[int]:
    """Numbers into `places`, highest score first, equal scores by place."""
    return sorted(range(len(places)), key=lambda n: (-float(scores[n]), places[n]))


@dataclass(frozen=True)
class Pool:
    """What steps 1 to 4 found for one question; the judge's conditions are compared on it.

    Args:
        question: its text.
        bridge: place of the best passage of the first hop; ``None`` where that found nothing.
        queries: of the second hop, as they were searched.
        entities: that the model named.
        places: of the candidates, by best cosine over all searches, falling.
        cosines: that best cosine.
        svo: best cosine to a query of the second hop; ``None`` where it is not known.
        usage: of the calls so far.
        trace: a record of each step so far.
    """

    question: str
    bridge: int | None
    queries: tuple[str, ...]
    entities: Entities
    places: tuple[int, ...]
    cosines: tuple[float, ...]
    svo: tuple[float | None, ...]
    usage: Usage
    trace: tuple[dict[str, Any], ...]


def best_scores(found: Iterable[Hits]) -> dict[int, float]:
    """The best score of each place over several searches, in order of first appearance."""
    best: dict[int, float] = {}
    for hits in found:
        for place, score in zip(hits.indices.tolist(), hits.scores.tolist(), strict=True):
            best[place] = max(score, best.get(place, score))
    return best


def best_first(scores: Mapping[int, float], most: int) -> dict[int, float]:
    """The `most` best places with their scores, falling, equal scores by place."""
    places = sorted(scores, key=lambda place: (-scores[place], place))
    return {place: scores[place] for place in places[:most]}


def union(parts: Sequence[Mapping[int, float]], most: int) -> dict[int, float]:
    """The `most` best places of several lists, each once, by its best score."""
    best: dict[int, float] = {}
    for part in parts:
        for place, score in part.items():
            best[place] = max(score, best.get(place, score))
    return best_first(best, most)


def svo_cosines(
    search: Search, queries: Sequence[str], places: Sequence[int], found: Mapping[int, float]
) -> tuple[float | None, ...]:
    """The best cosine of each candidate to a second-hop query.

    Where the search holds vectors they are computed for every candidate, whichever search found it; else only what the
    searches of the queries `found` is known.
    """
    if not isinstance(search, DenseSearch) or not places or not queries:
        return tuple(found.get(place) for place in places)
    return tuple(cosines(search, queries, places).max(axis=0).tolist())


def cosines(search: DenseSearch, texts: Sequence[str], places: Sequence[int]) -> np.ndarray:
    """Of each text with each passage, ``float32 [texts, places]``, added up as the search does."""
    vectors = search.vectors.take(np.array(places, dtype=np.int64)).astype(np.float64)  # [n, d]
    encoded = np.asarray(search.encoder(texts)).astype(np.float64)  # [q, d]
    return np.stack([(vectors * vector).sum(axis=1) for vector in encoded]).astype(np.float32)
