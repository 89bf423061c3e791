"""Evidence graphs over passages: an edge where triples of two passages share an entity."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from bgr.gear.beam import Beams
from bgr.graph import ROOT, Edge, EvidenceGraph
from bgr.triples.index import TripleIndex


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
        if int(index.places[triple]) not in number:
            continue
        ends = {int(index.head[triple]), int(index.tail[triple])}
        entities.setdefault(int(index.places[triple]), set()).update(ends)
    passages = list(entities)
    edges: set[Edge] = set()
    for n, passage in enumerate(passages):
        before = [other for other in passages[:n] if entities[other] & entities[passage]]
        edges |= {(number[other], number[passage]) for other in before} or {(ROOT, number[passage])}
    return EvidenceGraph(edges)


def _places(index: TripleIndex, triples: Sequence[int]) -> list[int]:
    return [int(index.places[triple]) for triple in triples]
