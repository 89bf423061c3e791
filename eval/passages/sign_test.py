"""The paired sign test: of two systems, which is better on more questions?"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.stats import binomtest


@dataclass(frozen=True)
class SignTest:
    """Questions on which the first is better, worse, equal; and the exact two-sided p-value of "as often better as
    worse" (binomial over better and worse, ties left out; 1 where there are only ties)."""

    better: int
    worse: int
    equal: int
    p: float


def sign_test(first: np.ndarray, second: np.ndarray) -> SignTest:
    """Of two systems' scores ``[questions]``; differences below 1e-12 are ties."""
    difference = first - second
    better, worse = int((difference > 1e-12).sum()), int((difference < -1e-12).sum())
    p = float(binomtest(better, better + worse).pvalue) if better + worse else 1.0
    return SignTest(better, worse, len(difference) - better - worse, p)
