"""How probable an edge is, given its odds: each direction's calibration, measured on dev."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from sklearn.linear_model import LogisticRegression

from bgr.checkpoint import MOST_LOG_ODDS
from bgr.example import Example
from bgr.fusion import Calibration
from bgr.metrics.calibration import expected_calibration_error
from bgr.retrieval import DirectionResult

NEARBY = -4.0
"""Odds of the edges by which calibration is judged: with a threshold of ½ a chance of 0.02 and more."""


def edge_calibration(
    results: Sequence[DirectionResult], others: Sequence[DirectionResult], examples: Sequence[Example]
) -> Calibration:
    """Platt scaling of one direction's edges: a logistic regression of gold or not on the odds.

    Args:
        results: of the direction, on dev.
        others: of the other direction: what it weighed and this one did not says how probable an unseen edge is.
        examples: dev.

    Returns:
        The calibration; the direction's own log-odds where its edges are all gold, none is, or more odds mean less.
    """
    odds, gold = _weighed(results, examples)
    triples = zip(results, others, examples, strict=True)
    unseen = [edge in e.graph.edges for r, o, e in triples for edge in o.odds if edge not in r.odds]
    log_odds = math.log((sum(unseen) + 0.5) / (len(unseen) - sum(unseen) + 0.5))
    if len(set(gold.tolist())) == 2:
        fit = LogisticRegression().fit(odds[:, None], gold)
        slope, offset = float(fit.coef_[0, 0]), float(fit.intercept_[0])
        if slope > 0 and max(slope, abs(offset)) <= MOST_LOG_ODDS:
            return Calibration(slope, offset, log_odds)
    return Calibration(unseen=log_odds)


def _weighed(results: Sequence[DirectionResult], examples: Sequence[Example]) -> tuple[np.ndarray, np.ndarray]:
    """Odds of all edges that a direction weighed, and which of them are gold."""
    pairs = [
        (odds, edge in e.graph.edges) for r, e in zip(results, examples, strict=True) for edge, odds in r.odds.items()
    ]
    return np.array([odds for odds, _ in pairs]), np.array([gold for _, gold in pairs], dtype=bool)


def edge_calibration_error(
    results: Sequence[DirectionResult], examples: Sequence[Example], calibration: Calibration
) -> float:
    """Expected calibration error of one direction's edges, in [0, 1], over those that are no less probable than
    `NEARBY` before calibration: most edges are hopeless and would hide the error of the others."""
    odds, gold = _weighed(results, examples)
    near = odds >= NEARBY
    chances = 1 / (1 + np.exp(-(calibration.slope * odds[near] + calibration.offset)))
    return expected_calibration_error(chances, gold[near])
