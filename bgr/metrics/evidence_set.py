"""Precision, recall, F1 and exact match of the retrieved facts as a set (paper, section 5.3 and Table 4)."""

from __future__ import annotations

from dataclasses import dataclass

from bgr.graph import EvidenceGraph


@dataclass(frozen=True)
class EvidenceScores:
    """All in 0 … 1, higher is better."""

    precision: float
    recall: float
    f1: float
    em: float


def evidence_set(predicted: EvidenceGraph, gold: EvidenceGraph) -> EvidenceScores:
    """Scores over the facts of the two graphs, ``Q`` and the edges left out.

    precision = right / retrieved, recall = right / gold, F1 their harmonic mean, em = 1 when the sets are equal.
    Both empty: all four are 1. One empty: all four are 0. (The authors' code has precision and recall swapped.)
    """
    retrieved, wanted = set(predicted.nodes), set(gold.nodes)
    if not retrieved or not wanted:
        value = float(retrieved == wanted)
        return EvidenceScores(value, value, value, value)
    right = len(retrieved & wanted)
    return EvidenceScores(
        precision=right / len(retrieved),
        recall=right / len(wanted),
        f1=2 * right / (len(retrieved) + len(wanted)),
        em=float(retrieved == wanted),
    )
