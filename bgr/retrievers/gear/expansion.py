"""Graph expansion: from a question's initial triples to a list of passages (paper, section 4.2, equation 3), and to
evidence graphs over passages, in which triples that share an entity make an edge."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

from bgr.collection.search import Hits, rrf
from bgr.collection.triples.index import TripleIndex
from bgr.graph.evidence_graph import ROOT, Edge, EvidenceGraph
from bgr.retrievers.gear.beam import Beams, beam_search
from bgr.retrievers.gear.scores import MeanVectors, SequenceScores
from bgr.retrievers.gear.steps import GearSettings


def beam_graph(index: TripleIndex, beams: Beams) -> EvidenceGraph:
    """The passages of one question's beams; edges between those of consecutive triples.

    The root leads to the passages of the first triples. Sharing an entity has no direction, so an edge goes from the
    passage that comes first breadth-first to the other one, and there is no cycle.
    """
    rank = {passage: n for n, passage in enumerate(passages_of(index, beams.flat()))}
    edges: set[Edge] = set()
    for row in beams.triples.tolist():
        chain = [int(index.passages[triple]) for triple in row]
        edges.add((ROOT, chain[0]))
        for a, b in pairwise(chain):
            if a != b:
                first, second = sorted((a, b), key=rank.__getitem__)
                edges.add((first, second))
    return EvidenceGraph(edges)


def linked_graph(index: TripleIndex, linked: Sequence[int], found: Collection[int]) -> EvidenceGraph:
    """The passages of the triples that the gist memory is linked to; edges between those that share an entity.

    An edge goes from the passage that was linked first to the other one; the root leads to a passage that shares no
    entity with an earlier one.

    Args:
        index: the triples.
        linked: numbers of triples, in the order of the memory.
        found: the result's passages. Other linked passages are left out: a fact's list of passages is truncated, and
            may lack that of its nearest triple.
    """
    entities: dict[int, set[int]] = {}
    for triple in linked:
        passage = int(index.passages[triple])
        if passage in found:
            entities.setdefault(passage, set()).update((int(index.head[triple]), int(index.tail[triple])))
    passages = list(entities)
    edges: set[Edge] = set()
    for n, passage in enumerate(passages):
        before = [other for other in passages[:n] if entities[other] & entities[passage]]
        edges |= {(other, passage) for other in before} or {(ROOT, passage)}
    return EvidenceGraph(edges)


def passages_of(index: TripleIndex, triples: Iterable[int]) -> list[int]:
    """The passages of the triples in the order given, each once."""
    return list(dict.fromkeys(int(index.passages[triple]) for triple in triples))


QUESTIONS = 64
"""Number of questions that are searched at once; all their neighbors are in memory."""

MakeScores = Callable[[TripleIndex], SequenceScores]
"""A class of scores, such as `MeanVectors`; each scope has its own index."""


class Expanded(NamedTuple):
    """The result of graph expansion for one query.

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
        settings: settings of the retriever.
        score: class of the scores of sequences of triples.
    """

    def __init__(self, index: TripleIndex, settings: GearSettings, score: MakeScores = MeanVectors) -> None:
        self.index = index
        self.settings = settings
        self.score = score(index)

    def __call__(self, queries: Sequence[str], starts: Sequence[Sequence[int]], base: Sequence[Hits]) -> list[Expanded]:
        """One result for each query, from its initial triples and its base list."""
        beams: list[Beams] = []
        for first in range(0, len(queries), QUESTIONS):
            part = slice(first, first + QUESTIONS)
            vectors = self.index.encoder(queries[part])
            beams += beam_search(self.index, vectors, starts[part], self.settings.beam, self.score)
        return [self._expanded(*parts) for parts in zip(starts, beams, base, strict=True)]

    def _expanded(self, start: Sequence[int], beams: Beams, base: Hits) -> Expanded:
        passages = passages_of(self.index, beams.flat())
        fused = rrf([passages, base.indices.tolist()], k=self.settings.rrf_k)
        return Expanded(list(start), beams, passages, fused)

    def triples_of(self, passages: Iterable[int]) -> list[int]:
        """All triples of some passages, from which NaiveGE starts (paper, section 6.2)."""
        return [int(number) for passage in passages for number in self.index.of_passage(int(passage))]

    def record(self, query: str, base: Hits, found: Expanded) -> dict[str, Any]:
        """The record of this step in the trace."""
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
        """A triple of the index in the trace; ``place`` is its passage."""
        triple = self.index.triples[number]
        return {"number": number, "triple": list(triple[:3]), "place": int(self.index.passages[number])}
