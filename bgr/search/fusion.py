"""Scores of several origins made comparable: reciprocal rank fusion (Cormack, Clarke and Büttcher, SIGIR 2009), and
percentile ranks (BridgeRAG, arXiv 2604.03384)."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from bgr.search.interface import Hits

K = 60
"""The paper's constant: how little the very first ranks count more than those after them."""


def rrf(rankings: Sequence[Sequence[int]], *, k: int = K, weights: Sequence[float] | None = None) -> Hits:
    """Several rankings of one list as one: ``score(place) = sum over rankings r of weight_r / (k + rank_r(place))``.

    Ranks count from 1; a ranking that lacks a place gives it nothing. The sums are exact before they are rounded, so
    that the order of the rankings decides nothing, and equal sums go by place.

    Args:
        rankings: places, best first, each at most once in a ranking.
        k: the constant of the formula, 0 or more.
        weights: one for each ranking; ``None`` counts all alike.

    Returns:
        Every place of any ranking.

    Raises:
        ValueError: another number of weights than of rankings, a negative `k`, or a ranking with one place twice.
    """
    weights = [1.0] * len(rankings) if weights is None else weights
    if len(weights) != len(rankings):
        raise ValueError(f"{len(weights)} weights for {len(rankings)} rankings; give one for each")
    if k < 0:
        raise ValueError(f"k is {k}; it must be 0 or more")
    parts: dict[int, list[float]] = {}
    for number, (ranking, weight) in enumerate(zip(rankings, weights, strict=True)):
        if len(set(map(int, ranking))) < len(ranking):
            raise ValueError(f"ranking {number} (from 0) holds a place twice; make it unique first")
        for rank, place in enumerate(ranking, 1):
            parts.setdefault(int(place), []).append(weight / (k + rank))
    scores = {place: math.fsum(part) for place, part in parts.items()}
    places = sorted(scores, key=lambda place: (-scores[place], place))
    return Hits(np.array(places, dtype=np.int64), np.array([scores[place] for place in places], dtype=np.float32))


def pit(scores: Sequence[float] | np.ndarray) -> np.ndarray:
    """Percentile ranks: for each score the share of all scores that are not above it (probability integral transform).

    Above 0, at most 1; the highest is always 1, equal scores get the same. Only the order of the scores counts.

    Args:
        scores: ``[n]`` of any scale; −∞ is allowed and lowest.

    Returns:
        ``float64 [n]``; empty for no scores.

    Raises:
        ValueError: not one row of numbers, or a score is NaN.
    """
    values = np.asarray(scores, dtype=np.float64)
    if values.ndim != 1 or np.isnan(values).any():
        raise ValueError(
            f"percentile ranks need one row of numbers; got shape {values.shape} with {int(np.isnan(values).sum())} NaN"
        )
    return np.searchsorted(np.sort(values), values, side="right") / max(len(values), 1)
