"""Graph expansion: from a question's initial triples to a list of passages (paper, section 4.2, equation 3), and to
evidence graphs over passages, in which triples that share an entity make an edge."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import pairwise
from typing import Any

from bgr.collection.search import Hits, rrf
from bgr.collection.triples.index import TripleIndex
from bgr.collection.vectors import encode_queries
from bgr.graph.evidence_graph import ROOT, Edge, EvidenceGraph
from bgr.retrievers.base import RetrievalResult
from bgr.retrievers.gear.beam import Beams, beam_search
from bgr.retrievers.gear.scores import EncodedText, MeanVectors, SequenceScores
from bgr.retrievers.gear.steps import GearSettings, Score
from bgr.retrievers.scope import Scope, pairs


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

    `linked` has numbers of triples in the order of the memory. Linked passages that are not in `found` are left out: a
    fact's list of passages is truncated, and may lack that of its nearest triple.
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

SCORES: Mapping[Score, type[SequenceScores]] = {"mean": MeanVectors, "text": EncodedText}
"""`GearSettings.score`; each scope has its own index."""


def expand_graph(
    scope: Scope, queries: Sequence[str], linked: Sequence[Sequence[int]], base: Sequence[Hits], settings: GearSettings
) -> list[RetrievalResult]:
    """Diverse triple beam search for queries of one scope: the fusion of each base list with the passages of the beams.

    `linked` has the numbers of each query's initial triples; without any, the query starts from all triples of the
    passages of its base list, as NaiveGE (paper, section 6.2).
    """
    index = scope.index
    starts = [
        list(dict.fromkeys(triples)) or [int(n) for passage in hits.indices.tolist() for n in index.of_passage(passage)]
        for triples, hits in zip(linked, base, strict=True)
    ]
    scores, beams = SCORES[settings.score](index), list[Beams]()
    for first in range(0, len(queries), QUESTIONS):
        part = slice(first, first + QUESTIONS)
        beams += beam_search(index, encode_queries(index.encoder, queries[part]), starts[part], settings.beam, scores)
    rows = zip(queries, starts, base, beams, strict=True)
    return [_result(scope, *row, settings.rrf_k) for row in rows]


def _result(scope: Scope, query: str, start: list[int], base: Hits, beams: Beams, rrf_k: int) -> RetrievalResult:
    index = scope.index
    passages = passages_of(index, beams.flat())
    fused = rrf([passages, base.indices.tolist()], k=rrf_k)
    record = {
        "step": "expand",
        "query": query,
        "base": base.indices.tolist(),
        "start": start,
        "beams": [
            {"score": score, "triples": [triple_record(index, number) for number in row]}
            for row, score in zip(beams.triples.tolist(), beams.scores.tolist(), strict=True)
        ],
        "passages": passages,
        "fused": fused.indices.tolist(),
    }
    return RetrievalResult(beam_graph(index, beams), ranking=pairs(fused), searched=scope.corpus, trace=(record,))


def triple_record(index: TripleIndex, number: int) -> dict[str, Any]:
    """A triple of the index in the trace; ``place`` is its passage."""
    triple = index.triples[number]
    return {"number": number, "triple": list(triple[:3]), "place": int(index.passages[number])}
