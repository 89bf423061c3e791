"""The evidence as a graph over passages, in the order of the sub-questions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from bgr.graph import ROOT, Edge, EvidenceGraph
from bgr.prism.candidates import Reference


def ordered_graph(evidence: Sequence[Reference], purpose: Mapping[Reference, int]) -> EvidenceGraph:
    """A passage hangs from all passages of the sub-question before its own, those of the first from the question.

    A passage belongs to the earliest sub-question that one of its sentences is for, so that it stands once and there is
    no cycle. A sub-question without a passage is passed over.

    Args:
        evidence: sentences; the graph's facts are numbers into their passages, in the order in which they come first.
        purpose: the number of the sub-question that each is for.
    """
    number = {place: n for n, place in enumerate(dict.fromkeys(one.place for one in evidence))}
    step: dict[int, int] = {}
    for one in evidence:
        step[one.place] = min(purpose[one], step.get(one.place, purpose[one]))
    edges: list[Edge] = []
    before = [ROOT]
    for wanted in sorted(set(step.values())):
        here = [number[place] for place in number if step[place] == wanted]
        edges += [(a, b) for a in before for b in here]
        before = here
    return EvidenceGraph(edges)
