"""Question and evidence as one text for a reader, in the order of the graph (paper, sections 5.3 and 5.4, Table 5)."""

from __future__ import annotations

from collections.abc import Sequence

from bgr.graph import ROOT, EvidenceGraph

THEN, OTHER = "Then:", "On the other hand:"
"""The paper's words for the next fact of a chain and for the start of another chain."""


def linearise(question: str, facts: Sequence[str], graph: EvidenceGraph, *, structure: bool) -> str:
    """``question: … evidence: fact fact …``, chain by chain (`EvidenceGraph.order`).

    Args:
        question: the question.
        facts: the candidates that `graph` numbers; those it does not hold are left out.
        graph: the evidence; an empty one gives an empty list of evidence.
        structure: say in words how facts hang together. *Then* comes before a fact that follows from the one just
            written, *On the other hand* before one that does not.
    """
    parts, last = [], ROOT
    for number, node in enumerate(graph.order()):
        word = _word(graph, last, node) if structure and number else ""
        parts.append(f"{word} {facts[node]}" if word else facts[node])
        last = node
    return " ".join(["question:", *question.split(), "evidence:", *" ".join(parts).split()])


def _word(graph: EvidenceGraph, last: int, node: int) -> str:
    return THEN if last in graph.predecessors(node) else OTHER
