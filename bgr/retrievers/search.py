"""Searches as retrievers: alone, and as the first stage before a retriever that needs candidates."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from bgr.retrievers.base import Query, RetrievalResult, Retriever, star
from bgr.retrievers.scope import Scope, SearchName, search_scopes

if TYPE_CHECKING:
    from bgr.collection.collection import Collection

CANDIDATES = 20
"""Candidates of the second stage: as many as a question of MuSiQue comes with, and about as many as one of
ReasonGraphQA."""


class SearchRetriever(Retriever):
    """The first texts of a search; the graph is a star over them, or over the first `Query.gold_count`.

    Args:
        scope: the texts and their search.
        k: texts of a result.
    """

    def __init__(self, scope: Scope, k: int = CANDIDATES) -> None:
        self.scope = scope
        self.k = k

    @classmethod
    def over(cls, collection: Collection, *, search: SearchName = "hybrid", k: int = CANDIDATES) -> SearchRetriever:
        """Search a collection.

        Example::

            [result] = SearchRetriever.over(collection).retrieve([Query("Which …?")])
            result.texts
        """
        return cls(Scope.over(collection, search), k)

    def retrieve(self, queries: Sequence[Query]) -> list[RetrievalResult]:
        """One result for each query, in order."""
        started = time.perf_counter()
        scopes = [self.scope.of(query) for query in queries]
        hits = search_scopes(scopes, [query.question for query in queries], self.k)
        share = (time.perf_counter() - started) / max(1, len(queries))
        results = []
        for query, scope, found in zip(queries, scopes, hits, strict=True):
            ranking = tuple(zip(found.indices.tolist(), found.scores.tolist(), strict=True))
            graph = star([index for index, _ in ranking[: query.gold_count]])
            results.append(RetrievalResult(graph, ranking=ranking, searched=scope.corpus, seconds=share, is_list=True))
        return results


class TwoStage(Retriever):
    """A search gives candidates, from which another retriever makes its graph.

    Args:
        retriever: needs candidates: BGR, a baseline, or a few-shot language model.
        scope: the texts and the search of the first stage. Queries with candidates of their own skip it.
        count: candidates of a query.
    """

    def __init__(self, retriever: Retriever, scope: Scope, count: int = CANDIDATES) -> None:
        self.retriever = retriever
        self.scope = scope
        self.count = count

    @classmethod
    def over(
        cls, collection: Collection, retriever: Retriever, *, search: SearchName = "hybrid", count: int = CANDIDATES
    ) -> TwoStage:
        """Search a collection, then retrieve from what was found."""
        return cls(retriever, Scope.over(collection, search), count)

    def retrieve(self, queries: Sequence[Query]) -> list[RetrievalResult]:
        """One result for each query, in order; indices count in the collection."""
        started = time.perf_counter()
        rows = [row for row, query in enumerate(queries) if query.candidates is None]
        hits = self.scope.find([queries[row].question for row in rows], self.count)
        found = {row: one.indices.tolist() for row, one in zip(rows, hits, strict=True)}
        corpus = self.scope.corpus
        asked = [
            replace(query, candidates=[corpus[index].whole for index in found[row]]) if row in found else query
            for row, query in enumerate(queries)
        ]
        results = self.retriever.retrieve(asked)
        share = (time.perf_counter() - started) / max(1, len(queries))
        moved = [
            self._in_collection(result, found[row]) if row in found else result for row, result in enumerate(results)
        ]
        return [replace(result, seconds=share) for result in moved]

    def _in_collection(self, result: RetrievalResult, indices: Sequence[int]) -> RetrievalResult:
        ranking = tuple((indices[index], score) for index, score in zip(result.indices, result.scores, strict=True))
        graph = result.graph.relabel(dict(enumerate(indices)))
        sentences = tuple((indices[index], number) for index, number in result.sentences)
        return replace(result, graph=graph, ranking=ranking, sentences=sentences, searched=self.scope.corpus)
