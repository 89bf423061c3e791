"""Searches as retrievers: alone, and as the first stage before a retriever that needs candidates."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from bgr.graph.evidence_graph import ROOT, EvidenceGraph
from bgr.retrievers.base import KEPT, Query, RetrievalResult, Retriever, star, timed
from bgr.retrievers.scope import Scope, SearchName, pairs, search_scopes

if TYPE_CHECKING:
    from bgr.collection.collection import Collection

CANDIDATES = 20
"""Candidates of the second stage: the number in MuSiQue, and about that in ReasonGraphQA."""


class SearchRetriever(Retriever):
    """The `k` best texts of a search; the graph is a star over them, or over the first `Query.gold_count`."""

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

    @timed
    def retrieve(self, queries: Sequence[Query]) -> list[RetrievalResult]:
        """One result for each query, in order."""
        scopes = [self.scope.of(query) for query in queries]
        hits = search_scopes(scopes, [query.question for query in queries], self.k)
        results = []
        for query, scope, found in zip(queries, scopes, hits, strict=True):
            graph = star(found.indices[: query.gold_count].tolist())
            results.append(RetrievalResult(graph, ranking=pairs(found), searched=scope.corpus, is_list=True))
        return results


class TwoStage(Retriever):
    """A search gives `count` candidates, from which another retriever makes its graph.

    The retriever needs candidates: BGR, a baseline, or a few-shot language model. Queries with candidates of their own
    skip the search.
    """

    def __init__(self, retriever: Retriever, scope: Scope, count: int = CANDIDATES) -> None:
        self.retriever = retriever
        self.scope = scope
        self.count = count

    @classmethod
    def over(
        cls, collection: Collection, retriever: Retriever, *, search: SearchName = "hybrid", count: int = CANDIDATES
    ) -> TwoStage:
        """Search a collection, then retrieve from the texts found."""
        return cls(retriever, Scope.over(collection, search), count)

    @property
    def concurrency(self) -> int:
        return self.retriever.concurrency

    @timed
    def retrieve(self, queries: Sequence[Query]) -> list[RetrievalResult]:
        """One result for each query, in order; indices refer to the collection. The graph is empty if nothing is
        found."""
        rows = [row for row, query in enumerate(queries) if query.candidates is None]
        hits = self.scope.find([queries[row].question for row in rows], self.count)
        found = {row: one.indices.tolist() for row, one in zip(rows, hits, strict=True)}
        corpus = self.scope.corpus
        first = 0 if self.scope.search is None else self.scope.search.read_first
        asked = [
            replace(query, candidates=[corpus[index].whole for index in found[row]], read_first=first)
            if row in found
            else query
            for row, query in enumerate(queries)
        ]
        some = [row for row in range(len(asked)) if found.get(row, True)]
        results = [RetrievalResult(EvidenceGraph(), searched=corpus) for _ in asked]
        for row, result in zip(some, self.retriever.retrieve([asked[row] for row in some]), strict=True):
            results[row] = self._in_collection(result, found[row]) if row in found else result
        return results

    def _in_collection(self, result: RetrievalResult, indices: Sequence[int]) -> RetrievalResult:
        ranking = tuple((indices[index], score) for index, score in zip(result.indices, result.scores, strict=True))
        graph = result.graph.relabel(dict(enumerate(indices)))
        sentences = tuple((indices[index], number) for index, number in result.sentences)
        cut = result.truncated
        cut = None if cut is None else tuple(index if index == ROOT else indices[index] for index in cut)
        details = dict(result.details)
        if KEPT in details:
            details[KEPT] = [indices[index] for index in details[KEPT]]
        return replace(
            result,
            graph=graph,
            ranking=ranking,
            sentences=sentences,
            searched=self.scope.corpus,
            truncated=cut,
            details=details,
        )
