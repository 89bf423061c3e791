"""The interface of all searches, and what they share: hits, the best of many scores, subsets, rank fusion.

Scores of several origins are made comparable by reciprocal rank fusion (Cormack, Clarke and Büttcher, SIGIR 2009) or by
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
        indices: ``int64 [k]`` into the list that is searched; fewer where the list is shorter.
        scores: ``float32 [k]``, higher is better; the scale depends on the search.
    """

    indices: np.ndarray
    scores: np.ndarray


Within = Sequence[np.ndarray | None]
"""One item a query: the indices of the texts that may answer it, or ``None`` for all texts."""


class Search(ABC):
    """Searches one list of texts.

    A subclass answers queries over the whole list (`search_all`); where it can search a part of the list without
    searching the rest, it overrides `subset`, too.
    """

    @abstractmethod
    def __len__(self) -> int:
        """The number of texts that are searched."""

    @abstractmethod
    def search_all(self, queries: Sequence[str], k: int) -> list[Hits]:
        """The `k` best of all texts for each query, equal scores by index."""

    def search(self, queries: Sequence[str], k: int, within: Within | None = None) -> list[Hits]:
        """The `k` best texts for each query.

        Args:
            queries: the texts to search for.
            k: hits for each query; fewer where fewer texts are searched.
            within: for each query the distinct indices of the texts that may answer it, ascending, or ``None`` for all
                texts. The result is that of a search built over these texts alone (in BM25 their own word statistics
                count), except that indices count in the whole list. Equal scores rank in the order of the subset.

        Raises:
            ValueError: `within` has another length than `queries`, or indices that are not in the list or repeat.
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
        """A search over some of the texts; its hits count in `indices`, ``int64 [n]``, each once.

        This one filters the hits of the whole list, which is right where scores do not depend on the other texts.
        """
        return _Filtered(self, indices)

    @cached_property
    def _subsets(self) -> _SubsetCache:
        return _SubsetCache(self)


def check_subset(indices: np.ndarray, size: int) -> np.ndarray:
    """The indices as ``int64 [n]``.

    Raises:
        ValueError: an index is below 0, not below `size`, or repeated.
    """
    found = np.asarray(indices, dtype=np.int64)
    if found.ndim != 1 or (len(found) and not 0 <= found.min() <= found.max() < size):
        raise ValueError(f"a subset has shape {found.shape} with indices outside 0 to {size - 1}")
    if len(found) > 1 and not (np.diff(found) > 0).all() and len(np.unique(found)) < len(found):
        raise ValueError("a subset holds an index twice")
    return found


MAX_SUBSETS, MAX_SUBSET_TEXTS = 256, 50_000
"""Subsets that are kept for the next call, and their texts in sum."""


class _SubsetCache:
    """The searches over the subsets that were asked for last: the steps of one question share theirs."""

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
    """A part of another search, found by searching all of it."""

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
            own = ordered(local[local >= 0], hits.scores[local >= 0])
            found.append(Hits(own.indices[: max(k, 0)], own.scores[: max(k, 0)]))
        return found


def _groups(within: Within) -> list[tuple[np.ndarray | None, list[int]]]:
    """The distinct subsets, in order of first appearance, each with the numbers of its queries."""
    groups: dict[bytes | None, tuple[np.ndarray | None, list[int]]] = {}
    for number, one in enumerate(within):
        indices = None if one is None else np.ascontiguousarray(one, dtype=np.int64)
        groups.setdefault(None if indices is None else indices.tobytes(), (indices, []))[1].append(number)
    return list(groups.values())


def best(scores: np.ndarray, k: int) -> Hits:
    """The `k` highest of ``float32 [n]`` (all if there are fewer), best first, equal scores by index."""
    k = max(min(k, len(scores)), 0)
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


K = 60
"""The paper's constant: how little the very first ranks count more than those after them."""


def rrf(rankings: Sequence[Sequence[int]], *, k: int = K, weights: Sequence[float] | None = None) -> Hits:
    """One ranking from several: ``score(index) = sum over rankings r of weight_r / (k + rank_r(index))``.

    Ranks count from 1; a ranking that lacks an index adds nothing to it. The sums are exact before they are rounded, so
    that the order of the rankings does not matter; equal sums rank by index.

    Args:
        rankings: indices, best first, each at most once in a ranking.
        k: the constant of the formula, 0 or more.
        weights: one for each ranking; ``None`` gives all the same weight.

    Returns:
        Every index of any ranking.

    Raises:
        ValueError: another number of weights than of rankings, a negative `k`, or a ranking with one index twice.
    """
    weights = [1.0] * len(rankings) if weights is None else weights
    if len(weights) != len(rankings):
        raise ValueError(f"{len(weights)} weights for {len(rankings)} rankings; give one for each")
    if k < 0:
        raise ValueError(f"k is {k}; it must be 0 or more")
    parts: dict[int, list[float]] = {}
    for number, (ranking, weight) in enumerate(zip(rankings, weights, strict=True)):
        if len(set(map(int, ranking))) < len(ranking):
            raise ValueError(f"ranking {number} (from 0) holds an index twice; remove repeated indices first")
        for rank, index in enumerate(ranking, 1):
            parts.setdefault(int(index), []).append(weight / (k + rank))
    scores = {index: math.fsum(part) for index, part in parts.items()}
    indices = sorted(scores, key=lambda index: (-scores[index], index))
    return Hits(np.array(indices, dtype=np.int64), np.array([scores[index] for index in indices], dtype=np.float32))


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

    A hit whose score is 0 is left out: in BM25 such a text shares no word with the query, and its rank is that of its
    index. So there may be fewer hits than `k` where no search is dense.

    Args:
        searches: one or more, over the same texts.
        depth: hits of each search that are fused, at least; up to this `k` the result for `k` begins that for more.
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

    def search_all(self, queries: Sequence[str], k: int) -> list[Hits]:
        """See `Search`; scores are those of `rrf`."""
        found = [search.search_all(queries, max(k, self.depth)) for search in self.searches]
        fused = (rrf([_matched(hits) for hits in of_query], k=self.k) for of_query in zip(*found, strict=True))
        return [Hits(hits.indices[: max(k, 0)], hits.scores[: max(k, 0)]) for hits in fused]

    def subset(self, indices: np.ndarray) -> HybridSearch:
        """See `Search`: the fusion of the subsets of all searches."""
        return HybridSearch([search.subset(indices) for search in self.searches], depth=self.depth, k=self.k)


def _matched(hits: Hits) -> list[int]:
    return hits.indices[hits.scores != 0].tolist()
