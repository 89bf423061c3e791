"""NaiveGE: graph expansion from all triples of the base list's passages, without a language model (section 6.2)."""

from __future__ import annotations

import time
from collections.abc import Sequence

from bgr.collection.search import Search
from bgr.collection.triples.index import TripleIndex
from bgr.retrievers.base import PassageResult, PassageRetriever
from bgr.retrievers.gear.expansion import Expansion, beam_graph
from bgr.retrievers.gear.gear_settings import PAPER, GearSettings
from bgr.retrievers.gear.scores import SequenceScores


class NaiveGe(PassageRetriever):
    """Adds to any base search the passages that its own passages' triples lead to.

    Args:
        base: searches the passages.
        index: triples of the same passages.
        settings: the paper's unless given.
        score: of sequences of triples; `MeanVectors` unless given.
    """

    def __init__(
        self,
        base: Search,
        index: TripleIndex,
        settings: GearSettings = PAPER,
        *,
        score: SequenceScores | None = None,
    ) -> None:
        self.base = base
        self.index = index
        self.settings = settings
        self.expansion = Expansion(index, settings, score)

    def retrieve(self, questions: Sequence[str]) -> list[PassageResult]:
        """The base list and the expansion's, fused; the graph holds the passages of the beams."""
        started = time.perf_counter()
        base = self.base.search(questions, self.settings.passages)
        starts = [self.expansion.triples_of(hits.indices.tolist()) for hits in base]
        expanded = self.expansion(questions, starts, base)
        share = (time.perf_counter() - started) / max(1, len(questions))
        results = []
        for question, hits, found in zip(questions, base, expanded, strict=True):
            places = tuple(found.fused.indices.tolist())
            graph = beam_graph(self.index, found.beams, places)
            trace = (self.expansion.record(question, hits, found),)
            scores = tuple(found.fused.scores.tolist())
            results.append(PassageResult(places, scores, graph, seconds=share, trace=trace))
        return results
