"""NaiveGE: graph expansion from all triples of the base list's passages, without a language model (section 6.2)."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from bgr.retrievers.base import Query, RetrievalResult, Retriever
from bgr.retrievers.gear.expansion import Expanded, Expansion, MakeScores, beam_graph
from bgr.retrievers.gear.gear_settings import PAPER, GearSettings
from bgr.retrievers.gear.scores import MeanVectors
from bgr.retrievers.scope import Scope, SearchName, by_scope

if TYPE_CHECKING:
    from bgr.collection.collection import Collection


class NaiveGe(Retriever):
    """Adds to any base search the passages that its own passages' triples lead to.

    Args:
        scope: the passages, their base search and their triples.
        settings: the paper's unless given.
        score: makes the scores of sequences of triples.
    """

    def __init__(self, scope: Scope, settings: GearSettings = PAPER, *, score: MakeScores = MeanVectors) -> None:
        self.scope = scope
        self.settings = settings
        self.score = score

    @classmethod
    def over(
        cls,
        collection: Collection,
        *,
        search: SearchName = "hybrid",
        settings: GearSettings = PAPER,
        score: MakeScores = MeanVectors,
    ) -> NaiveGe:
        """Retrieve from a collection that has triples.

        Example::

            [result] = NaiveGe.over(collection).retrieve([Query("Which …?")])
        """
        return cls(Scope.over(collection, search, triples=True), settings, score=score)

    def retrieve(self, queries: Sequence[Query]) -> list[RetrievalResult]:
        """The base list and the expansion's, fused; the graph holds the passages of the beams."""
        started = time.perf_counter()
        results = by_scope(
            [self.scope.of(query) for query in queries],
            lambda scope, rows: self._retrieve(scope, [queries[row].question for row in rows]),
        )
        share = (time.perf_counter() - started) / max(1, len(queries))
        return [replace(result, seconds=share) for result in results]

    def _retrieve(self, scope: Scope, questions: Sequence[str]) -> list[RetrievalResult]:
        expansion = Expansion(scope.index, self.settings, self.score)
        base = scope.find(questions, self.settings.passages)
        starts = [expansion.triples_of(hits.indices.tolist()) for hits in base]
        expanded = expansion(questions, starts, base)
        return [
            expanded_result(scope, found, trace=(expansion.record(question, hits, found),))
            for question, hits, found in zip(questions, base, expanded, strict=True)
        ]


def expanded_result(scope: Scope, found: Expanded, trace: tuple[dict, ...]) -> RetrievalResult:
    """The fused list of one expansion, with the graph of its beams."""
    return RetrievalResult(
        beam_graph(scope.index, found.beams),
        ranking=tuple(zip(found.fused.indices.tolist(), found.fused.scores.tolist(), strict=True)),
        searched=scope.corpus,
        trace=trace,
    )
