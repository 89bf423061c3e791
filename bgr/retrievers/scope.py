"""The part of a collection that answers one query: all of it, or the query's own candidates."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Literal, TypeVar

import numpy as np

from bgr.collection.bm25 import Bm25Search
from bgr.collection.corpus import Corpus, Passage
from bgr.collection.search import Hits, HybridSearch, Search
from bgr.collection.triples.index import TripleIndex
from bgr.collection.vectors import DenseSearch
from bgr.errors import BgrError
from bgr.retrievers.base import Query

if TYPE_CHECKING:
    from bgr.collection.collection import Collection

T = TypeVar("T")

SearchName = Literal["bm25", "dense", "hybrid"]
"""The searches of a collection."""

KEPT_SCOPES = 64
"""Number of queries whose candidates stay indexed: retrievers ask for them in each round."""


@dataclass(frozen=True, eq=False)
class Scope:
    """Texts, their search and their triples, with the same numbering.

    Args:
        corpus: the texts.
        search: the search over them; ``None`` for retrievers that take candidates in the order given.
        triples: the texts' triples, for retrievers that follow them.
        triple_search: another search over the same triples, such as Milvus; default: `triples`.
    """

    corpus: Corpus
    search: Search | None = None
    triples: TripleIndex | None = None
    triple_search: Search | None = None

    @classmethod
    def over(cls, collection: Collection, search: SearchName = "hybrid", *, triples: bool = False) -> Scope:
        """A whole collection with one of its searches, and with its triples if requested."""
        index = collection.triple_index if triples else None
        return cls(collection.corpus, getattr(collection, search), index)

    def of(self, query: Query) -> Scope:
        """The scope of a query: this one, or the query's candidates, numbered in their order.

        Candidates that are texts of this scope, each once, keep their vectors and triples; otherwise all are indexed
        now, and kept for the next rounds of the same query.
        """
        return self if query.candidates is None else self._of_candidates(tuple(query.candidates))

    @cached_property
    def _of_candidates(self) -> Callable[[tuple[str, ...]], Scope]:
        def scope(texts: tuple[str, ...]) -> Scope:
            indices = [self._index_of.get(text) for text in texts]
            known = [index for index in indices if index is not None]
            if len(known) == len(indices) == len(set(known)):
                return self.subset(known)
            return self._of_texts(texts, indices)

        return lru_cache(KEPT_SCOPES)(scope)

    def subset(self, indices: Sequence[int]) -> Scope:
        """Some of the texts, each at most once, renumbered in the order given; nothing is encoded again."""
        array = np.array(indices, dtype=np.int64)
        corpus = Corpus(self.corpus[index] for index in indices)
        search = None if self.search is None else self.search.subset(array)
        return Scope(corpus, search, None if self.triples is None else self.triples.of_passages(array))

    def _of_texts(self, texts: Sequence[str], indices: Sequence[int | None]) -> Scope:
        """The scope of texts of which some are unknown or occur twice."""
        corpus = Corpus(self._passages(texts, indices))
        triples = self.triples
        if triples is not None:
            moved = np.full(len(self.corpus), -1, dtype=np.int64)
            for n, index in reversed(list(enumerate(indices))):
                if index is not None:
                    moved[index] = n
            triples = triples.changed(moved, [])
        return Scope(corpus, None if self.search is None else search_over(self.search, texts), triples)

    def _passages(self, texts: Sequence[str], indices: Sequence[int | None]) -> Iterator[Passage]:
        """The passages of texts: those of this scope, under their ids where they come first, and others under new
        ids."""
        seen: set[int] = set()
        for n, (text, index) in enumerate(zip(texts, indices, strict=True)):
            passage = Passage("", "", text) if index is None else self.corpus[index]
            if index is None or index in seen:
                name = f"candidate {n}"
                while name in self.corpus.index_of:
                    name += "+"
                passage = replace(passage, id=name)
            else:
                seen.add(index)
            yield passage

    @cached_property
    def _index_of(self) -> dict[str, int]:
        # of equal texts the first
        return {self.corpus[index].whole: index for index in reversed(range(len(self.corpus)))}

    def find(self, texts: Sequence[str], k: int) -> list[Hits]:
        """The `k` best texts for each query's text; BgrError if there is no search."""
        if self.search is None:
            raise BgrError("this retriever has no search: give each query its candidates")
        return self.search.search(texts, k) if texts else []

    @property
    def index(self) -> TripleIndex:
        """The triples; BgrError if there are none."""
        if self.triples is None:
            raise BgrError("this retriever follows triples: give its scope a triple index")
        return self.triples

    def triples_by(self, link: Literal["dense", "base"]) -> Search:
        """The search over triples: by their vectors, or the kind of search that the texts have."""
        return self._base_triples if link == "base" else self._nearest_triples

    @property
    def _nearest_triples(self) -> Search:
        return self.triple_search or self.index

    @cached_property
    def _base_triples(self) -> Search:
        found = self._triples_like(self.search)
        # words alone: a hybrid of one leaves out triples that share no word, whose order is arbitrary
        return HybridSearch([found]) if isinstance(found, Bm25Search) else found

    def _triples_like(self, search: Search | None) -> Search:
        if isinstance(search, HybridSearch):
            return HybridSearch([self._triples_like(one) for one in search.searches], depth=search.depth, k=search.k)
        if isinstance(search, DenseSearch):
            return self._nearest_triples
        return Bm25Search([triple.text for triple in self.index.triples])


def search_over(search: Search, texts: Sequence[str]) -> Search:
    """The same kind of search over other texts, in memory: hybrid and dense search with the same encoder, else BM25."""
    if isinstance(search, HybridSearch):
        return HybridSearch([search_over(one, texts) for one in search.searches], depth=search.depth, k=search.k)
    if isinstance(search, DenseSearch):
        return DenseSearch.of_texts(texts, search.encoder)
    return Bm25Search(texts)


def by_scope(scopes: Sequence[Scope], work: Callable[[Scope, list[int]], Sequence[T]]) -> list[T]:
    """Apply `work` to the rows of each scope together; the results are in the order of the rows."""
    rows: dict[Scope, list[int]] = {}
    for row, scope in enumerate(scopes):
        rows.setdefault(scope, []).append(row)
    found: dict[int, T] = {}
    for scope, mine in rows.items():
        found.update(zip(mine, work(scope, mine), strict=True))
    return [found[row] for row in range(len(scopes))]


def search_scopes(scopes: Sequence[Scope], texts: Sequence[str], k: int) -> list[Hits]:
    """The `k` best texts for each query's text in its own scope."""
    return by_scope(scopes, lambda scope, rows: scope.find([texts[row] for row in rows], k))


def pairs(hits: Hits) -> tuple[tuple[int, float], ...]:
    """``(index, score)`` of each hit, best first."""
    return tuple(zip(hits.indices.tolist(), hits.scores.tolist(), strict=True))
