"""The rules for PRISM's evidence: what agents may change, how rounds are merged, which sub-question a sentence belongs
to, and the graph over passages."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence

from bgr.graph.evidence_graph import ROOT, Edge, EvidenceGraph
from bgr.retrievers.prism.candidates import Candidates, Reference

Evidence = tuple[Reference, ...]
"""Each sentence once, in the order in which they were added."""

_WORD = re.compile(r"\w+")


def added(evidence: Evidence, new: Iterable[Reference]) -> Evidence:
    """The adder's rule: what is there stays, in its order; what is new follows."""
    return tuple(dict.fromkeys((*evidence, *new)))


def kept(evidence: Evidence, keep: Iterable[Reference]) -> Evidence:
    """The selector's rule: what is there and named stays, in its order; what is named and not there is not added."""
    named = set(keep)
    return tuple(one for one in evidence if one in named)


def merged(rounds: Iterable[Evidence]) -> Evidence:
    """The evidence at the end of each round, together, each sentence once, the earlier first (section 2.4)."""
    return tuple(dict.fromkeys(one for evidence in rounds for one in evidence))


def nearest_sub_question(candidates: Candidates, reference: Reference, sub_questions: Sequence[str]) -> int:
    """Number from 0 of the sub-question that shares most different words with the title and the sentence, the first of
    equals: for sentences of which the model does not say what they are for. Words of up to three letters do not count,
    as most of them say nothing (was, the, who)."""
    words = _words(f"{candidates.corpus[reference.passage].title} {candidates.text(reference)}")
    shared = [len(words & _words(sub_question)) for sub_question in sub_questions]
    return shared.index(max(shared))


def _words(text: str) -> set[str]:
    return {word for word in _WORD.findall(text.lower()) if len(word) > 3}


def ordered_graph(evidence: Sequence[Reference], purpose: Mapping[Reference, int]) -> EvidenceGraph:
    """The passages of a sub-question follow all passages of the one before it; the root leads to those of the first.

    A passage belongs to the earliest sub-question that one of its sentences is for, so that it occurs once and there is
    no cycle. A sub-question without a passage is skipped.

    Args:
        evidence: sentences.
        purpose: the number of the sub-question that each is for.
    """
    step: dict[int, int] = {}
    for one in evidence:
        step[one.passage] = min(purpose[one], step.get(one.passage, purpose[one]))
    edges: list[Edge] = []
    before = [ROOT]
    for wanted in sorted(set(step.values())):
        here = [passage for passage in step if step[passage] == wanted]
        edges += [(a, b) for a in before for b in here]
        before = here
    return EvidenceGraph(edges)
