"""Confidence intervals of means and tests of differences: paired bootstrap over questions, McNemar's exact test for
scores of 0 and 1, and the sign test."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.stats import binomtest

from bgr.errors import BgrError

SAMPLES = 10_000
CHUNK = 500
"""Number of samples drawn at a time, which limits memory."""


@dataclass(frozen=True)
class Interval:
    """A mean over `n` questions with its 95 % percentile interval."""

    mean: float
    low: float
    high: float
    n: int = 0

    def columns(self, name: str) -> dict[str, float]:
        """Columns of a CSV file."""
        return {name: self.mean, f"{name}_low": self.low, f"{name}_high": self.high}


@dataclass(frozen=True)
class Difference:
    """First minus second, with its interval and the two-sided p-value of "no difference"."""

    interval: Interval
    p: float


def bootstrap_means(scores: np.ndarray, *, samples: int = SAMPLES, seed: int = 0) -> np.ndarray:
    """Means over resampled questions: ``[questions, columns]`` to ``[samples, columns]``.

    All columns use the same questions, so that differences of columns are paired.

    Raises:
        BgrError: there are no questions, or fewer than one sample.
    """
    questions = len(scores)
    if questions < 1 or samples < 1:
        raise BgrError(f"bootstrap: {questions} questions and {samples} samples, allowed: 1 and more of each")
    rng, means = np.random.default_rng(seed), []
    for first in range(0, samples, CHUNK):
        count = min(CHUNK, samples - first)
        drawn = rng.integers(questions, size=(count, questions))
        # how often each question was drawn: a sum over it replaces gathering the scores
        places = drawn + questions * np.arange(count)[:, None]
        times = np.bincount(places.ravel(), minlength=count * questions).reshape(count, questions)
        means.append(times.astype(np.float64) @ scores / questions)
    return np.concatenate(means)


def interval(scores: np.ndarray, means: np.ndarray) -> Interval:
    """The interval of one column of scores from its resampled means."""
    low, high = np.percentile(means, [2.5, 97.5])
    return Interval(float(scores.mean()), float(low), float(high), len(scores))


def bootstrap_difference(first: np.ndarray, second: np.ndarray, means: np.ndarray) -> Difference:
    """Paired bootstrap test, from the scores of the same questions and the resampled means of ``first - second``.

    p is twice the share of samples on the other side of 0, at most 1; one sample is added, so that it is never 0.
    """
    share = min((means <= 0).sum(), (means >= 0).sum())
    p = min(1.0, 2 * (int(share) + 1) / (len(means) + 1))
    return Difference(interval(first - second, means), p)


def mcnemar(first: np.ndarray, second: np.ndarray) -> float:
    """McNemar's exact two-sided p-value for scores of 0 and 1: a binomial test on the questions that only one of two
    systems has right; 1 if there are none."""
    return _binomial(int(((first == 1) & (second == 0)).sum()), int(((first == 0) & (second == 1)).sum()))


@dataclass(frozen=True)
class SignTest:
    """Numbers of questions on which the first is better, worse and equal, and the exact two-sided p-value of "as often
    better as worse" (binomial test without ties; 1 if there are only ties)."""

    better: int
    worse: int
    equal: int
    p: float


def sign_test(first: np.ndarray, second: np.ndarray) -> SignTest:
    """Sign test of two systems' scores ``[questions]``; differences below 1e-12 are ties."""
    difference = first - second
    better, worse = int((difference > 1e-12).sum()), int((difference < -1e-12).sum())
    return SignTest(better, worse, len(difference) - better - worse, _binomial(better, worse))


def _binomial(one: int, other: int) -> float:
    return float(binomtest(one, one + other).pvalue) if one + other else 1.0
