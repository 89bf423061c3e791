"""Step 6: percentile ranks of judge and SVO cosine in one score."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from bgr.search.fusion import pit

DIGITS = 12
"""Of a fused score: sums that differ by rounding alone are equal, and go by place."""


class Fused(NamedTuple):
    """Percentile ranks and their mixture, ``float64 [n]`` each; no ranks of a judge that gave no scores."""

    judge: np.ndarray | None
    svo: np.ndarray
    scores: np.ndarray


def fuse(judge: Sequence[float] | None, svo: Sequence[float | None], alpha: float) -> Fused:
    """``f(c) = (1 − α) · PIT(judge, c) + α · PIT(SVO cosine, c)``; the second alone where there are no judge's scores.

    Args:
        judge: a score for each candidate, of any scale.
        svo: best cosine to a second-hop query; ``None``, where it is not known, counts as lowest.
        alpha: weight of the cosine, 0 … 1.
    """
    cosine = pit([-math.inf if value is None else value for value in svo])
    if judge is None:
        return Fused(None, cosine, cosine)
    ranks = pit(judge)
    return Fused(ranks, cosine, np.round((1 - alpha) * ranks + alpha * cosine, DIGITS))


def ranked(places: Sequence[int], scores: Sequence[float] | np.ndarray) -> list[int]:
    """Numbers into `places`, highest score first, equal scores by place."""
    return sorted(range(len(places)), key=lambda n: (-float(scores[n]), places[n]))
