"""Scores of retrieved evidence, as a set and as a ranked list.

Precision, recall, F1 and exact match follow the paper's section 5.3 and Table 4, and R@k GEAR's section 6.1.
"""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from bgr.graph.evidence_graph import EvidenceGraph


@dataclass(frozen=True)
class EvidenceScores:
    """Four scores in 0 … 1; higher is better."""

    precision: float
    recall: float
    f1: float
    em: float


def evidence_set(predicted: EvidenceGraph, gold: EvidenceGraph) -> EvidenceScores:
    """`set_scores` of the facts of two graphs."""
    return set_scores(predicted.nodes, gold.nodes)


def set_scores(found: Iterable[Hashable], gold: Iterable[Hashable], *, missing: int = 0) -> EvidenceScores:
    """Compare two sets, of which duplicates do not count; `missing` further gold items can never be found.

    precision = right / found, recall = right / gold, F1 is their harmonic mean, and em is 1 if the sets are equal. If
    both are empty, all four are 1; if only one is empty, all four are 0. (The authors' code swaps precision and
    recall.)
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


def recalls_at(
    ranked: Sequence[Hashable], gold: Collection[Hashable], ks: Sequence[int], *, missing: int = 0
) -> np.ndarray:
    """``|gold ∩ first k| / (|gold| + missing)`` for each k, 0 … 1, higher is better: float64 [len(ks)].

    The items of `ranked`, best first, and of `gold` are distinct; `missing` further relevant items can never be found.
    NaN if there is no relevant item: leave such questions out of a mean.
    """
    needed = set(gold)
    total = len(needed) + missing
    if not total:
        return np.full(len(ks), np.nan)
    hits = np.cumsum([0, *(one in needed for one in ranked)])  # hits among the first 0, 1, 2, …
    return hits[np.minimum(ks, len(ranked))] / total
