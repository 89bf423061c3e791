"""The interface of all searches, with hits, subsets and rank fusion.

Scores of several searches are combined by reciprocal rank fusion (Cormack, Clarke and Büttcher, SIGIR 2009) or by
percentile ranks (BridgeRAG, arXiv 2604.03384).
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections import OrderedDict
from collections.abc import Sequence
from functools import cached_property
from typing import NamedTuple

import numpy as np


class Hits(NamedTuple):
    """The result of one query, best first.

    Args:
        indices: ``int64 [k]`` into the list that is searched; fewer if the list is shorter.
        scores: ``float32 [k]``, higher is better; the scale depends on the search.
    """

    indices: np.ndarray
    scores: np.ndarray


Within = Sequence[np.ndarray | None]
"""For each query the indices of the texts that are searched, or ``None`` for all texts."""


class Search(ABC):
    """A search over one list of texts.

    A subclass implements `search_all`, and overrides `subset` if it can search a part of the list more efficiently.
    """

    @property
    def read_first(self) -> int:
        """How many of the first hits a retriever should read if it reads only some; 0 to leave it the choice."""
        return 0

    @abstractmethod
    def __len__(self) -> int:
        """The number of texts that are searched."""

    @abstractmethod
    def search_all(self, queries: Sequence[str], k: int) -> list[Hits]:
        """The `k` best of all texts for each query; equal scores rank by index."""

    def search(self, queries: Sequence[str], k: int, within: Within | None = None) -> list[Hits]:
        """The `k` best texts for each query.

        Args:
            within: for each query the distinct indices of the texts that are searched, or ``None`` for all texts. The
                result is that of a search built over these texts alone (BM25 uses their own word statistics), except
                that indices refer to the whole list. Equal scores rank in the order of the subset.

        Raises:
            ValueError: `within` has another length than `queries`, or indices that are out of range or repeated.
        """
        if within is None:
            return self.search_all(queries, k) if queries else []
        if len(within) != len(queries):
            raise ValueError(f"within has {len(within)} items for {len(queries)} queries; give one for each")
        found: list[Hits | None] = [None] * len(queries)
        for indices, numbers in _groups(within):
            asked = [queries[number] for number in numbers]
            if indices is None:
                hits = self.search_all(asked, k)
            else:
                hits = self._subsets(indices).search_all(asked, k)
                hits = [Hits(indices[one.indices], one.scores) for one in hits]
            for number, one in zip(numbers, hits, strict=True):
                found[number] = one
        return [one for one in found if one is not None]

    def subset(self, indices: np.ndarray) -> Search:
        """A search over some of the texts, ``int64 [n]``, each once; its hits are positions in `indices`.

        By default it filters the hits of the whole list, which is correct if scores do not depend on the other texts.
        """
        return _Filtered(self, indices)

    @cached_property
    def _subsets(self) -> _SubsetCache:
        return _SubsetCache(self)


def check_subset(indices: np.ndarray, size: int) -> np.ndarray:
    """The indices as ``int64 [n]``; ValueError if an index is out of range or repeated."""
    found = np.asarray(indices, dtype=np.int64)
    if found.ndim != 1 or (len(found) and not 0 <= found.min() <= found.max() < size):
        raise ValueError(f"a subset has shape {found.shape} with indices outside 0 to {size - 1}")
    if len(found) > 1 and not (np.diff(found) > 0).all() and len(np.unique(found)) < len(found):
        raise ValueError("a subset holds an index twice")
    return found


MAX_SUBSETS, MAX_SUBSET_TEXTS = 256, 50_000
"""Maximum number of subsets that are cached, and of their texts in total."""


class _SubsetCache:
    """The most recently used searches over subsets, which the steps of one question share."""

    def __init__(self, search: Search) -> None:
        self.search = search
        self.found: OrderedDict[bytes, Search] = OrderedDict()
        self.texts = 0

    def __call__(self, indices: np.ndarray) -> Search:
        key = indices.tobytes()
        if key in self.found:
            self.found.move_to_end(key)
            return self.found[key]
        made = self.search.subset(check_subset(indices, len(self.search)))
        self.found[key] = made
        self.texts += len(made)
        while len(self.found) > 1 and (len(self.found) > MAX_SUBSETS or self.texts > MAX_SUBSET_TEXTS):
            self.texts -= len(self.found.popitem(last=False)[1])
        return made


class _Filtered(Search):
    """A part of another search, which searches all of it."""

    def __init__(self, search: Search, indices: np.ndarray) -> None:
        self.whole = search
        self.indices = indices

    def __len__(self) -> int:
        return len(self.indices)

    def search_all(self, queries: Sequence[str], k: int) -> list[Hits]:
        position = np.full(len(self.whole), -1, dtype=np.int64)
        position[self.indices] = np.arange(len(self.indices))
        found = []
        for hits in self.whole.search_all(queries, len(self.whole)):
            local = position[hits.indices]
            found.append(_first(ordered(local[local >= 0], hits.scores[local >= 0]), k))
        return found


def _groups(within: Within) -> list[tuple[np.ndarray | None, list[int]]]:
    """The distinct subsets in order of first appearance, each with the numbers of its queries."""
    groups: dict[bytes | None, tuple[np.ndarray | None, list[int]]] = {}
    for number, one in enumerate(within):
        indices = None if one is None else np.ascontiguousarray(one, dtype=np.int64)
        groups.setdefault(None if indices is None else indices.tobytes(), (indices, []))[1].append(number)
    return list(groups.values())


def best(scores: np.ndarray, k: int) -> Hits:
    """The `k` highest scores of ``float32 [n]`` (all if there are fewer), best first, equal scores by index."""
    k = max(min(k, len(scores)), 0)
    if 0 < k < len(scores) // 4:
        # most texts share no word with a query: a partition of very many equal scores is slow
        positive = np.flatnonzero(scores > 0)
        if k <= len(positive) <= len(scores) // 2:
            found = best(scores[positive], k)
            return Hits(positive[found.indices], found.scores)
    if 0 < k < len(scores):
        limit = np.partition(scores, len(scores) - k)[len(scores) - k]  # the k-th best score
        above = np.flatnonzero(scores > limit)
        indices = np.concatenate([above, np.flatnonzero(scores == limit)[: k - len(above)]])
    else:
        indices = np.arange(k)
    return ordered(indices, scores[indices])


def ordered(indices: np.ndarray, scores: np.ndarray) -> Hits:
    """Indices and their scores, ``[n]`` each, best first, equal scores by index."""
    order = np.lexsort((indices, -scores))
    return Hits(indices[order].astype(np.int64), scores[order].astype(np.float32))


def _first(hits: Hits, k: int) -> Hits:
    return Hits(hits.indices[: max(k, 0)], hits.scores[: max(k, 0)])


K = 60
"""The constant of the paper; the larger it is, the less the first ranks stand out."""


def rrf(rankings: Sequence[Sequence[int]], *, k: int = K) -> Hits:
    """One ranking from several: ``score(index) = sum over rankings r of 1 / (k + rank_r(index))``.

    Ranks start at 1. Sums are exact before they are rounded, so that the order of the rankings does not matter; equal
    sums rank by index.

    Each ranking has indices, best first, each at most once.

    Raises:
        ValueError: a negative `k`, or a ranking with a repeated index.
    """
    if k < 0:
        raise ValueError(f"k is {k}; it must be 0 or more")
    parts: dict[int, list[float]] = {}
    for number, ranking in enumerate(rankings):
        if len(set(map(int, ranking))) < len(ranking):
            raise ValueError(f"ranking {number} (from 0) holds an index twice; remove repeated indices first")
        for rank, index in enumerate(ranking, 1):
            parts.setdefault(int(index), []).append(1.0 / (k + rank))
    scores = {index: math.fsum(part) for index, part in parts.items()}
    indices = sorted(scores, key=lambda index: (-scores[index], index))
    return Hits(np.array(indices, dtype=np.int64), np.array([scores[index] for index in indices], dtype=np.float32))


def pit(scores: Sequence[float] | np.ndarray) -> np.ndarray:
    """Percentile ranks: for each score the share of all scores that are not above it (probability integral transform).

    Args:
        scores: ``[n]`` of any scale; −∞ is allowed and lowest.

    Returns:
        ``float64 [n]``, above 0 and at most 1; the highest is always 1, and equal scores have equal ranks.

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
"""Minimum number of hits of each search that are fused."""


class HybridSearch(Search):
    """Reciprocal rank fusion of searches over the same texts.

    Hits with a score of 0 are left out: in BM25 such a text shares no word with the query, and its rank is arbitrary.
    So there may be fewer than `k` hits if no search is dense.

    At least `depth` hits of each search are fused; up to it, a smaller `k` gives a prefix of a larger one.

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

    def search_all(self, queries: Sequence[str], k: int) -> list[Hits]:
        """See `Search`; scores are those of `rrf`."""
        found = [search.search_all(queries, max(k, self.depth)) for search in self.searches]
        matched = [
            [hits.indices[hits.scores != 0].tolist() for hits in of_query] for of_query in zip(*found, strict=True)
        ]
        return [_first(rrf(rankings, k=self.k), k) for rankings in matched]

    def subset(self, indices: np.ndarray) -> HybridSearch:
        """See `Search`: the fusion of the subsets of all searches."""
        return HybridSearch([search.subset(indices) for search in self.searches], depth=self.depth, k=self.k)
