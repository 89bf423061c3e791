"""Thresholds of each direction and γ of the pair, chosen on the dev set."""

from __future__ import annotations

from collections.abc import Sequence

import torch

from bgr.example import Example
from bgr.graph import EvidenceGraph
from bgr.metrics.evidence_set import evidence_set
from bgr.metrics.gm import graph_match
from bgr.metrics.gs import graph_structure_match
from bgr.models.decode import decode
from bgr.models.retriever import BgrRetriever
from bgr.reconstruction import reconstruct
from training.data_module import BgrDataModule

THRESHOLDS = tuple(step / 10 for step in range(2, 10))
GAMMAS = tuple(step / 20 for step in range(21))


def dev_metrics(graphs: Sequence[EvidenceGraph], examples: Sequence[Example]) -> dict[str, float]:
    """Mean GM, GS and set F1, and the dev score (the mean of GM and F1) by which everything is chosen."""
    pairs = list(zip(graphs, (e.graph for e in examples), strict=True))
    gm = sum(graph_match(p, g) for p, g in pairs) / len(pairs)
    gs = sum(graph_structure_match(p, g) for p, g in pairs) / len(pairs)
    f1 = sum(evidence_set(p, g).f1 for p, g in pairs) / len(pairs)
    return {"gm": gm, "gs": gs, "f1": f1, "score": (gm + f1) / 2}


@torch.inference_mode()
def decode_dev(
    model: BgrRetriever, data: BgrDataModule, thresholds: Sequence[float]
) -> dict[float, list[EvidenceGraph]]:
    """The dev set's graphs at each threshold; the encoder runs once."""
    graphs: dict[float, list[EvidenceGraph]] = {threshold: [] for threshold in thresholds}
    device = next(model.parameters()).device
    for item in data.val_dataloader():
        batch = item.to(device).batch
        reading = model.read(batch.questions, batch.facts, batch.candidates)
        for threshold in thresholds:
            graphs[threshold] += [r.graph for r in decode(model, reading, threshold=threshold)]
    return graphs


def best_threshold(model: BgrRetriever, data: BgrDataModule) -> float:
    """Threshold with the best dev score, of equal ones the one nearest to ½."""
    graphs = decode_dev(model, data, THRESHOLDS)
    scores = {threshold: dev_metrics(found, data.splits["dev"])["score"] for threshold, found in graphs.items()}
    return max(THRESHOLDS, key=lambda threshold: (scores[threshold], -abs(threshold - 0.5)))


def best_gamma(
    forward: Sequence[EvidenceGraph], backward: Sequence[EvidenceGraph], examples: Sequence[Example], *, rule: str
) -> tuple[float, dict[str, float]]:
    """γ with the best dev score (of equal ones the smallest) and its metrics."""
    scored = {
        gamma: dev_metrics([reconstruct(f, b, rule, gamma) for f, b in zip(forward, backward, strict=True)], examples)
        for gamma in GAMMAS
    }
    best = max(GAMMAS, key=lambda gamma: (scored[gamma]["score"], -gamma))
    return best, scored[best]
