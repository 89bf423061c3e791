"""Precision, recall, F1 and exact match of the retrieved facts as a set (paper, section 5.3 and Table 4)."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from dataclasses import dataclass

from bgr.graph.evidence_graph import EvidenceGraph


@dataclass(frozen=True)
class EvidenceScores:
    """All in 0 … 1, higher is better."""

    precision: float
    recall: float
    f1: float
    em: float


def evidence_set(predicted: EvidenceGraph, gold: EvidenceGraph) -> EvidenceScores:
    """`set_scores` of the facts of the two graphs, ``Q`` and the edges left out."""
    return set_scores(predicted.nodes, gold.nodes)


def set_scores(found: Iterable[Hashable], gold: Iterable[Hashable], *, missing: int = 0) -> EvidenceScores:
    """Scores of what was found, as a set.

    precision = right / found, recall = right / gold, F1 their harmonic mean, em = 1 when the sets are equal.
    Both empty: all four are 1. One empty: all four are 0. (The authors' code has precision and recall swapped.)

    Args:
        found: repetitions do not count.
        gold: repetitions do not count.
        missing: gold that cannot be found at all; it counts as not found.
    """
    retrieved, wanted = set(found), set(gold)
    needed = len(wanted) + missing
    if not retrieved or not needed:
        value = float(not retrieved and not needed)
        return EvidenceScores(value, value, value, value)
    right = len(retrieved & wanted)
    return EvidenceScores(
        precision=right / len(retrieved),
        recall=right / needed,
        f1=2 * right / (len(retrieved) + needed),
        em=float(right == len(retrieved) == needed),
    )
