"""Several searches as one, by reciprocal rank fusion.

What a search takes and gives, whatever it searches: passages, facts or triples.

The best of a row of scores without sorting all of it.

Scores of several origins made comparable: reciprocal rank fusion (Cormack, Clarke and Büttcher, SIGIR 2009), and
percentile ranks (BridgeRAG, arXiv 2604.03384).
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np


class Hits(NamedTuple):
    """What one query found, best first, equal scores by place.

    Args:
        places: ``int64 [k]`` in the list that is searched; fewer where the list is shorter.
        scores: ``float32 [k]``, higher is better; of what scale depends on the search.
    """

    places: np.ndarray
    scores: np.ndarray


class Search(ABC):
    """Searches one list of texts."""

    @abstractmethod
    def __len__(self) -> int:
        """How many texts are searched."""

    @abstractmethod
    def search(self, queries: Sequence[str], k: int) -> list[Hits]:
        """The `k` best texts for each query."""


def best(scores: np.ndarray, k: int) -> Hits:
    """The `k` highest of ``float32 [n]`` (all if there are fewer), best first, equal scores by place."""
    k = max(min(k, len(scores)), 0)
    if 0 < k < len(scores):
        limit = np.partition(scores, len(scores) - k)[len(scores) - k]  # the k-th best score
        above = np.flatnonzero(scores > limit)
        places = np.concatenate([above, np.flatnonzero(scores == limit)[: k - len(above)]])
    else:
        places = np.arange(k)
    return ordered(places, scores[places])


def ordered(places: np.ndarray, scores: np.ndarray) -> Hits:
    """Places and their scores, ``[n]`` each, best first, equal scores by place."""
    order = np.lexsort((places, -scores))
    return Hits(places[order].astype(np.int64), scores[order].astype(np.float32))


K = 60
"""The paper's constant: how little the very first ranks count more than those after them."""


def rrf(rankings: Sequence[Sequence[int]], *, k: int = K, weights: Sequence[float] | None = None) -> Hits:
    """Several rankings of one list as one: ``score(place) = sum over rankings r of weight_r / (k + rank_r(place))``.

    Ranks count from 1; a ranking that lacks a place gives it nothing. The sums are exact before they are rounded, so
    that the order of the rankings decides nothing, and equal sums go by place.

    Args:
        rankings: places, best first, each at most once in a ranking.
        k: the constant of the formula, 0 or more.
        weights: one for each ranking; ``None`` counts all alike.

    Returns:
        Every place of any ranking.

    Raises:
        ValueError: another number of weights than of rankings, a negative `k`, or a ranking with one place twice.
    """
    weights = [1.0] * len(rankings) if weights is None else weights
    if len(weights) != len(rankings):
        raise ValueError(f"{len(weights)} weights for {len(rankings)} rankings; give one for each")
    if k < 0:
        raise ValueError(f"k is {k}; it must be 0 or more")
    parts: dict[int, list[float]] = {}
    for number, (ranking, weight) in enumerate(zip(rankings, weights, strict=True)):
        if len(set(map(int, ranking))) < len(ranking):
            raise ValueError(f"ranking {number} (from 0) holds a place twice; make it unique first")
        for rank, place in enumerate(ranking, 1):
            parts.setdefault(int(place), []).append(weight / (k + rank))
    scores = {place: math.fsum(part) for place, part in parts.items()}
    places = sorted(scores, key=lambda place: (-scores[place], place))
    return Hits(np.array(places, dtype=np.int64), np.array([scores[place] for place in places], dtype=np.float32))


def pit(scores: Sequence[float] | np.ndarray) -> np.ndarray:
    """Percentile ranks: for each score the share of all scores that are not above it (probability integral transform).

    Above 0, at most 1; the highest is always 1, equal scores get the same. Only the order of the scores counts.

    Args:
        scores: ``[n]`` of any scale; −∞ is allowed and lowest.

    Returns:
        ``float64 [n]``; empty for no scores.

    Raises:
        ValueError: not one row of numbers, or a score is NaN.
    """
    values = np.asarray(scores, dtype=np.float64)
    if values.ndim != 1 or np.isnan(values).any():
        raise ValueError(
            f"percentile ranks need one row of numbers; got shape {values.shape} with {int(np.isnan(values).sum())} NaN"
        )
    return np.searchsorted(np.sort(values), values, side="right") / max(len(values), 1)


DEPTH = 100
"""Hits of each search that are fused; more where more are asked for."""


class HybridSearch(Search):
    """RRF over any searches of one list of texts.

    A hit whose score is 0 takes no part: to BM25 such a text shares no word with the query, and its rank is its place.
    So there may be fewer hits than `k` where no search is dense.

    Args:
        searches: one or more, over the same texts.
        depth: how many hits of each are fused, at least; up to this `k` the result for `k` begins that for more.
        k: the constant of `rrf`.

    Raises:
        ValueError: no search, or searches over lists of different lengths.
    """

    def __init__(self, searches: Sequence[Search], *, depth: int = DEPTH, k: int = K) -> None:
        lengths = {len(search) for search in searches}
        if len(lengths) != 1:
            raise ValueError(f"a hybrid needs searches over one list of texts; these have {sorted(lengths)} texts")
        self.searches = tuple(searches)
        self.depth = depth
        self.k = k

    def __len__(self) -> int:
        return len(self.searches[0])

    def search(self, queries: Sequence[str], k: int) -> list[Hits]:
        """The `k` best texts for each query; scores are those of `rrf`."""
        found = [search.search(queries, max(k, self.depth)) for search in self.searches]
        fused = (rrf([_matched(hits) for hits in of_query], k=self.k) for of_query in zip(*found, strict=True))
        return [Hits(hits.places[: max(k, 0)], hits.scores[: max(k, 0)]) for hits in fused]


def _matched(hits: Hits) -> list[int]:
    return hits.places[hits.scores != 0].tolist()
