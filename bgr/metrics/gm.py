"""Graph Matching: does the retrieved graph say exactly what the gold graph says? (paper, section 5.3)"""

from __future__ import annotations

from bgr.graph.evidence_graph import EvidenceGraph


def graph_match(predicted: EvidenceGraph, gold: EvidenceGraph) -> bool:
    """Whether the two edge sets are equal; which fact stands where counts. Higher is better.

    Two empty graphs match, an empty and a non-empty one do not. The authors' code reports this number under the name
    "structural".
    """
    return predicted.edges == gold.edges
