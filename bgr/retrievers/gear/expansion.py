"""Graph expansion: from a question's initial triples to a list of passages (paper, section 4.2, equation 3).

Evidence graphs over passages: an edge where triples of two passages share an entity.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

from bgr.collection.search import Hits, rrf
from bgr.collection.triples.index import TripleIndex
from bgr.graph.evidence_graph import ROOT, Edge, EvidenceGraph
from bgr.retrievers.gear.beam import Beams, beam_search
from bgr.retrievers.gear.gear_settings import GearSettings
from bgr.retrievers.gear.scores import SequenceScores


def beam_graph(index: TripleIndex, beams: Beams, places: Sequence[int]) -> EvidenceGraph:
    """The passages of the beams; edges between those of consecutive triples.

    The question leads to the passages of the first triples. Sharing an entity has no direction, so an edge goes from
    the passage that comes first breadth-first to the other one, and there is no cycle.

    Args:
        index: the triples.
        beams: of one question.
        places: the result's; the graph's facts are numbers into it, and it holds every passage of the beams.
    """
    number = {place: n for n, place in enumerate(places)}
    rank = {place: n for n, place in enumerate(dict.fromkeys(_places(index, beams.flat())))}
    edges: set[Edge] = set()
    for row in beams.triples.tolist():
        chain = _places(index, row)
        edges.add((ROOT, number[chain[0]]))
        for a, b in pairwise(chain):
            if a != b:
                first, second = sorted((a, b), key=rank.__getitem__)
                edges.add((number[first], number[second]))
    return EvidenceGraph(edges)


def linked_graph(index: TripleIndex, linked: Sequence[int], places: Sequence[int]) -> EvidenceGraph:
    """The passages of the triples that the gist memory is linked to; edges between those that share an entity.

    An edge goes from the passage that was linked first to the other one; a passage that shares no entity with an
    earlier one hangs from the question.

    Args:
        index: the triples.
        linked: numbers of triples, in the order of the memory.
        places: the result's; the graph's facts are numbers into it. A linked passage that it lacks is left out: a
            fact's list of passages is cut, and need not hold that of its nearest triple.
    """
    number = {place: n for n, place in enumerate(places)}
    entities: dict[int, set[int]] = {}
    for triple in linked:
        if int(index.passages[triple]) not in number:
            continue
        ends = {int(index.head[triple]), int(index.tail[triple])}
        entities.setdefault(int(index.passages[triple]), set()).update(ends)
    passages = list(entities)
    edges: set[Edge] = set()
    for n, passage in enumerate(passages):
        before = [other for other in passages[:n] if entities[other] & entities[passage]]
        edges |= {(number[other], number[passage]) for other in before} or {(ROOT, number[passage])}
    return EvidenceGraph(edges)


def _places(index: TripleIndex, triples: Sequence[int]) -> list[int]:
    return [int(index.passages[triple]) for triple in triples]


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
        fused = rrf([passages, base.indices.tolist()], k=self.settings.rrf_k)
        return Expanded(list(start), beams, passages, fused)

    def passages(self, triples: Iterable[int]) -> list[int]:
        """The places of the triples' passages in the order given, each once."""
        return list(dict.fromkeys(int(self.index.passages[number]) for number in triples))

    def triples_of(self, places: Iterable[int]) -> list[int]:
        """All triples of some passages: where NaiveGE starts (paper, section 6.2)."""
        return [int(number) for place in places for number in self.index.of_passage(int(place))]

    def record(self, query: str, base: Hits, found: Expanded) -> dict[str, Any]:
        """For the trace."""
        return {
            "step": "expand",
            "query": query,
            "base": base.indices.tolist(),
            "start": found.start,
            "beams": [
                {"score": score, "triples": [self.triple_record(number) for number in row]}
                for row, score in zip(found.beams.triples.tolist(), found.beams.scores.tolist(), strict=True)
            ],
            "passages": found.passages,
            "fused": found.fused.indices.tolist(),
        }

    def triple_record(self, number: int) -> dict[str, Any]:
        """A triple of the index for the trace."""
        triple = self.index.triples[number]
        return {"number": number, "triple": list(triple[:3]), "place": int(self.index.passages[number])}
