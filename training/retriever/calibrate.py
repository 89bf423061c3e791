"""Settings that are chosen on dev: threshold and calibration of each direction, γ of each rule, threshold of
`fused`."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
import torch
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score

from bgr.data.example import Example
from bgr.graph.evidence_graph import EvidenceGraph
from bgr.metrics.calibration import expected_calibration_error
from bgr.metrics.evidence_set import evidence_set
from bgr.metrics.gm_gs import graph_match, graph_structure_match
from bgr.models.retriever import BgrRetriever
from bgr.retrievers.graph_hop.checkpoint import MAX_LOG_ODDS, Settings
from bgr.retrievers.graph_hop.completeness import Refusal, evidence_features, refusal_threshold
from bgr.retrievers.graph_hop.decode import EXPLORE, read
from bgr.retrievers.graph_hop.fusion import Calibration, Fusion
from bgr.retrievers.graph_hop.likelihood import DirectionResult, graph_at
from bgr.retrievers.graph_hop.reconstruction import BIDIRECTIONAL, GAMMAS, reconstruct
from bgr.utils.devices import autocast
from bgr.utils.progress import progress_bar
from training.data_module import BgrDataModule

NEARBY = -4.0
"""Minimum log-odds of the edges that are used to evaluate calibration; a probability of 0.02 for a threshold of ½."""


def edge_calibration(
    results: Sequence[DirectionResult], others: Sequence[DirectionResult], examples: Sequence[Example]
) -> Calibration:
    """Platt scaling of the edges of one direction on dev: logistic regression of gold labels on log-odds.

    It keeps the log-odds of the direction if all or no edges are gold, or if the slope is negative or too large. Edges
    that only the other direction scored give the probability of an unseen edge.
    """
    odds, gold = _labeled_edges(results, examples)
    triples = zip(results, others, examples, strict=True)
    unseen = [edge in e.graph.edges for r, o, e in triples for edge in o.odds if edge not in r.odds]
    log_odds = math.log((sum(unseen) + 0.5) / (len(unseen) - sum(unseen) + 0.5))
    if len(set(gold.tolist())) == 2:
        fit = LogisticRegression().fit(odds[:, None], gold)
        slope, offset = float(fit.coef_[0, 0]), float(fit.intercept_[0])
        if slope > 0 and max(slope, abs(offset)) <= MAX_LOG_ODDS:
            return Calibration(slope, offset, log_odds)
    return Calibration(unseen=log_odds)


def _labeled_edges(results: Sequence[DirectionResult], examples: Sequence[Example]) -> tuple[np.ndarray, np.ndarray]:
    """Log-odds of all edges that a direction scored, and their gold labels."""
    pairs = zip(results, examples, strict=True)
    edges = [(odds, edge in e.graph.edges) for r, e in pairs for edge, odds in r.odds.items()]
    return np.array([odds for odds, _ in edges]), np.array([gold for _, gold in edges], dtype=bool)


def edge_calibration_error(
    results: Sequence[DirectionResult], examples: Sequence[Example], calibration: Calibration
) -> float:
    """Expected calibration error in [0, 1] of one direction's edges with log-odds of at least `NEARBY` before
    calibration; the many clearly wrong edges would hide the error of the others."""
    odds, gold = _labeled_edges(results, examples)
    near = odds >= NEARBY
    probabilities = 1 / (1 + np.exp(-(calibration.slope * odds[near] + calibration.offset)))
    return expected_calibration_error(probabilities, gold[near])


THRESHOLDS = tuple(step / 10 for step in range(2, 10))
FUSED_THRESHOLDS = tuple(step / 4 for step in range(-8, 5))


def dev_metrics(graphs: Sequence[EvidenceGraph], examples: Sequence[Example]) -> dict[str, float]:
    """Mean GM, GS and evidence F1 over the questions with an answer, and the dev score (`graph_score`), which all
    choices maximize."""
    pairs = [(found, e.graph) for found, e in zip(graphs, examples, strict=True) if e.answerable]
    scores = graph_match, graph_structure_match, lambda found, gold: evidence_set(found, gold).f1, graph_score
    gm, gs, f1, score = (sum(score(found, gold) for found, gold in pairs) / len(pairs) for score in scores)
    return {"gm": gm, "gs": gs, "f1": f1, "score": score}


def graph_score(found: EvidenceGraph, gold: EvidenceGraph) -> float:
    """The mean of a question's GM and set F1."""
    return (graph_match(found, gold) + evidence_set(found, gold).f1) / 2


@torch.inference_mode()
def decode_dev(model: BgrRetriever, data: BgrDataModule) -> list[DirectionResult]:
    """Results on dev with the paths that `fused` explores."""
    results: list[DirectionResult] = []
    device = next(model.parameters()).device
    title = f"{model.config.direction}, graphs of dev"
    with progress_bar(len(data.splits["dev"]), title, "question", show=data.progress) as bar:
        for item in (one.to(device) for one in data.val_dataloader()):
            with autocast(device):  # as in the pipeline
                results += read(model, item.batch, explore=EXPLORE)
            bar.update(len(item.examples))
    return results


def best_threshold(model: BgrRetriever, data: BgrDataModule) -> float:
    """The threshold with the best dev score; of ties the one nearest to ½. Every question is decoded once, at the
    lowest threshold."""
    model.config.threshold = min(THRESHOLDS)
    results, dev = decode_dev(model, data), data.splits["dev"]
    forward, depth = model.config.direction == "forward", model.config.max_depth

    def score(threshold: float) -> float:
        graphs = [graph_at(result.steps, threshold, forward=forward, max_depth=depth) for result in results]
        return dev_metrics(graphs, dev)["score"]

    scores = {threshold: score(threshold) for threshold in THRESHOLDS}
    return max(THRESHOLDS, key=lambda threshold: (scores[threshold], -abs(threshold - 0.5)))


@dataclass(frozen=True)
class Merge:
    """Settings of a reconstruction rule and its dev metrics."""

    gamma: float
    threshold: float
    metrics: dict[str, float]


def best_merge(
    forward: Sequence[DirectionResult],
    backward: Sequence[DirectionResult],
    examples: Sequence[Example],
    *,
    rule: str,
    fusion: Fusion | None = None,
) -> Merge:
    """Choose γ by dev score; of ties the smallest. For `fused`, the threshold is chosen first at γ = ½; of ties the one
    nearest to 0. `fusion` has the calibration."""
    base = fusion or Fusion()

    def score(gamma: float, threshold: float) -> dict[str, float]:
        pairs, chosen = zip(forward, backward, strict=True), replace(base, threshold=threshold)
        return dev_metrics([reconstruct(f, b, rule, gamma, fusion=chosen).graph for f, b in pairs], examples)

    threshold = 0.0
    if rule == "fused":
        by_threshold = {t: score(0.5, t)["score"] for t in FUSED_THRESHOLDS}
        threshold = max(FUSED_THRESHOLDS, key=lambda t: (by_threshold[t], -abs(t)))
    by_gamma = {gamma: score(gamma, threshold) for gamma in GAMMAS}
    gamma = max(GAMMAS, key=lambda g: (by_gamma[g]["score"], -g))
    return Merge(gamma, threshold, by_gamma[gamma])


def best_refusal(
    forward: Sequence[DirectionResult],
    backward: Sequence[DirectionResult],
    graphs: Sequence[EvidenceGraph],
    examples: Sequence[Example],
) -> tuple[Refusal, dict[str, float]]:
    """Logistic regression of the completeness of the evidence on dev, and the threshold below which a graph is refused
    (`refusal_threshold`, with the dev score of each graph).

    Also the AUC, and the shares of the questions with and without an answer that are refused. Without an answerable or
    an unanswerable question, or if a model does not tell, nothing is refused and there are no metrics.
    """
    parts = [evidence_features(*each) for each in zip(forward, backward, graphs, strict=True)]
    features, answerable = [part for part in parts if part is not None], [e.answerable for e in examples]
    if len(features) < len(parts) or len(set(answerable)) < 2:
        return Refusal(), {}
    fit = LogisticRegression().fit(np.array(features), answerable)
    refusal = Refusal(tuple(map(float, fit.coef_[0])), float(fit.intercept_[0]))
    results = zip(forward, backward, graphs, strict=True)
    chances = [chance for each in results if (chance := refusal.completeness(*each)) is not None]
    scores = [graph_score(found, e.graph) for found, e in zip(graphs, examples, strict=True)]
    threshold = refusal_threshold(np.array(chances), np.array(scores), np.array(answerable))
    refused = [chance < threshold for chance in chances]
    alarms, hits = (
        [one for one, has in zip(refused, answerable, strict=True) if has is kind] for kind in (True, False)
    )
    metrics = {
        "auc": float(roc_auc_score(answerable, chances)),
        "refused_answerable": sum(alarms) / len(alarms),
        "refused_unanswerable": sum(hits) / len(hits),
    }
    return replace(refusal, threshold=threshold), metrics


def calibrated(
    forward: Sequence[DirectionResult],
    backward: Sequence[DirectionResult],
    examples: Sequence[Example],
    *,
    rule: str | None = None,
) -> Settings:
    """Choose the settings of a pair of directions on dev: calibration, γ of each rule, threshold of `fused`, when to
    refuse, and the rule unless it is given.

    The dev metrics include those of each direction and rule, and the calibration error of each direction before and
    after calibration.
    """
    whole = forward, backward, examples
    forward, backward, examples = _with_answer(*whole)
    fusion = Fusion(edge_calibration(forward, backward, examples), edge_calibration(backward, forward, examples))
    merges = {rule: best_merge(forward, backward, examples, rule=rule, fusion=fusion) for rule in BIDIRECTIONAL}
    metrics: dict[str, Any] = {}
    for name, results, calibration in (("forward", forward, fusion.forward), ("backward", backward, fusion.backward)):
        before, after = (edge_calibration_error(results, examples, c) for c in (Calibration(), calibration))
        metrics[name] = dev_metrics([result.graph for result in results], examples)
        metrics[name] |= {"calibration_error": after, "calibration_error_before": before}
    chosen = rule or max(merges, key=lambda name: merges[name].metrics["score"])
    gamma = merges[chosen].gamma if chosen in merges else 0.5
    used = replace(fusion, threshold=merges["fused"].threshold)
    graphs = [reconstruct(f, b, chosen, gamma, fusion=used).graph for f, b in zip(whole[0], whole[1], strict=True)]
    refusal, refused = best_refusal(whole[0], whole[1], graphs, whole[2])
    return Settings(
        rule=chosen,
        refusal=refusal,
        gammas={rule: merge.gamma for rule, merge in merges.items()},
        fused_threshold=merges["fused"].threshold,
        calibration={"forward": asdict(fusion.forward), "backward": asdict(fusion.backward)},
        metrics={
            "dev": metrics
            | {name: merge.metrics for name, merge in merges.items()}
            | ({"refusal": refused} if refused else {})
        },
    )


def _with_answer(
    forward: Sequence[DirectionResult], backward: Sequence[DirectionResult], examples: Sequence[Example]
) -> tuple[list[DirectionResult], list[DirectionResult], list[Example]]:
    kept = [number for number, example in enumerate(examples) if example.answerable]
    return [forward[n] for n in kept], [backward[n] for n in kept], [examples[n] for n in kept]
