"""Whether the evidence is complete, from both directions and their graph; without it the result is empty."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Annotated

import numpy as np
from pydantic import Field

from bgr.graph.evidence_graph import EvidenceGraph
from bgr.retrievers.graph_hop.likelihood import DirectionResult
from bgr.utils.settings import STRICT

MAX_ODDS = 20.0
"""Bound of the log-odds that are read."""

Number = Annotated[float, Field(ge=-1_000, le=1_000)]


@dataclass(frozen=True)
class Refusal:
    """Logistic regression of `evidence_features`, and the probability below which the graph is empty; all are chosen on
    dev. Without weights, the evidence is never refused."""

    __pydantic_config__ = STRICT

    weights: tuple[Number, ...] = ()
    offset: Number = 0.0
    threshold: Annotated[float, Field(ge=0, le=1)] = 0.0

    def completeness(self, forward: DirectionResult, backward: DirectionResult, graph: EvidenceGraph) -> float | None:
        """Probability that the evidence is complete; ``None`` if the models do not tell."""
        features = evidence_features(forward, backward, graph)
        if features is None or len(features) != len(self.weights):
            return None
        odds = sum(weight * value for weight, value in zip(self.weights, features, strict=True)) + self.offset
        return 1 / (1 + math.exp(-_bounded(odds, 700)))


def evidence_features(
    forward: DirectionResult, backward: DirectionResult, graph: EvidenceGraph
) -> tuple[float, ...] | None:
    """The completeness logit of both directions, and the least and the mean log-odds of the graph's edges."""
    if forward.completeness is None or backward.completeness is None:
        return None
    edges = [_log_odds(graph.scores.get(edge, 0.5)) for edge in sorted(graph.edges)] or [-MAX_ODDS]
    logits = (_bounded(one.completeness or 0.0, MAX_ODDS) for one in (forward, backward))
    return (*logits, min(edges), sum(edges) / len(edges))


def _log_odds(chance: float) -> float:
    chance = min(max(chance, 1e-9), 1 - 1e-9)
    return _bounded(math.log(chance / (1 - chance)), MAX_ODDS)


def _bounded(value: float, most: float) -> float:
    return max(-most, min(most, value))


def refusal_threshold(chances: np.ndarray, scores: np.ndarray, answerable: np.ndarray) -> float:
    """The probability below which a graph is best refused: of the thresholds that are no worse than the best one by
    more than the standard error of the difference, the one nearest to ½, which a calibrated probability needs no data
    for.

    *Shape:* all ``[n]``: `chances` of completeness, and `scores` in [0, 1] of the graphs. A refused question scores 1
    if it has no answer, else 0, and one without an answer that is not refused 0.
    """
    tried = np.arange(50) / 50
    kept = chances >= tried[:, None]
    values = np.where(kept, np.where(answerable, scores, 0.0), ~answerable)
    lost = values[values.mean(1).argmax()] - values
    equal = lost.mean(1) <= lost.std(1) / math.sqrt(len(chances))
    return float(min(tried[equal], key=lambda threshold: (abs(threshold - 0.5), threshold)))
