"""Several searches as one, by reciprocal rank fusion."""

from __future__ import annotations

from collections.abc import Sequence

from bgr.search.fusion import K, rrf
from bgr.search.interface import Hits, Search

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
