"""Graph expansion: from a question's initial triples to a list of passages (paper, section 4.2, equation 3)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from bgr.gear.beam import Beams, beam_search
from bgr.gear.scores import SequenceScores
from bgr.gear.settings import GearSettings
from bgr.search.fusion import rrf
from bgr.search.interface import Hits
from bgr.triples.index import TripleIndex

QUESTIONS = 64
"""Searched at a time: their neighbours are held at once."""


class Expanded(NamedTuple):
    """What graph expansion found for one query.

    Args:
        start: numbers of the initial triples.
        beams: sequences of triples.
        passages: of the beams, breadth-first, each once.
        fused: these with the base list, by reciprocal rank.
    """

    start: list[int]
    beams: Beams
    passages: list[int]
    fused: Hits


class Expansion:
    """Diverse triple beam search over one index.

    Args:
        index: the triples.
        settings: the retriever's.
        score: of sequences; `MeanVectors` unless given.
    """

    def __init__(self, index: TripleIndex, settings: GearSettings, score: SequenceScores | None = None) -> None:
        self.index = index
        self.settings = settings
        self.score = score

    def __call__(self, queries: Sequence[str], starts: Sequence[Sequence[int]], base: Sequence[Hits]) -> list[Expanded]:
        """One result a query, from its initial triples and its base list."""
        beams: list[Beams] = []
        for first in range(0, len(queries), QUESTIONS):
            part = slice(first, first + QUESTIONS)
            vectors = self.index.encoder(queries[part])
            beams += beam_search(self.index, vectors, starts[part], self.settings.beam, self.score)
        return [self._expanded(*parts) for parts in zip(starts, beams, base, strict=True)]

    def _expanded(self, start: Sequence[int], beams: Beams, base: Hits) -> Expanded:
        passages = self.passages(beams.flat())
        fused = rrf([passages, base.places.tolist()], k=self.settings.rrf_k)
        return Expanded(list(start), beams, passages, fused)

    def passages(self, triples: Iterable[int]) -> list[int]:
        """The places of the triples' passages in the order given, each once."""
        return list(dict.fromkeys(int(self.index.places[number]) for number in triples))

    def triples_of(self, places: Iterable[int]) -> list[int]:
        """All triples of some passages: where NaiveGE starts (paper, section 6.2)."""
        return [int(number) for place in places for number in self.index.of_passage(int(place))]

    def record(self, query: str, base: Hits, found: Expanded) -> dict[str, Any]:
        """For the trace."""
        return {
            "step": "expand",
            "query": query,
            "base": base.places.tolist(),
            "start": found.start,
            "beams": [
                {"score": score, "triples": [self.triple_record(number) for number in row]}
                for row, score in zip(found.beams.triples.tolist(), found.beams.scores.tolist(), strict=True)
            ],
            "passages": found.passages,
            "fused": found.fused.places.tolist(),
        }

    def triple_record(self, number: int) -> dict[str, Any]:
        """A triple of the index for the trace."""
        triple = self.index.triples[number]
        return {"number": number, "triple": list(triple[:3]), "place": int(self.index.places[number])}
