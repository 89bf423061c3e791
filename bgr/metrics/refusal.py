"""Scores of the estimate that a question's candidates hold complete evidence, and of refusals.

A question is *answerable* if its candidates hold all the needed facts. An estimate of completeness is good if it is
higher for answerable questions than for unanswerable ones.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.stats import rankdata

from bgr.metrics.calibration import expected_calibration_error
from bgr.metrics.evidence_set import set_scores

FALSE_ALARMS = 0.05
"""Share of the answerable questions that may be taken for unanswerable."""


def completeness_auc(answerable: ArrayLike, unanswerable: ArrayLike) -> float:
    """``P(a > u) + P(a = u) / 2`` for the completeness of a random answerable and a random unanswerable question, from
    ranks (Mann and Whitney, 1947).

    The value lies in [0, 1]; higher is better, and chance is 0.5. It is NaN if one of the groups is empty.
    """
    right, wrong = np.asarray(answerable, dtype=float), np.asarray(unanswerable, dtype=float)
    if not right.size or not wrong.size:
        return math.nan
    ranks = rankdata(np.concatenate([right, wrong]))[: right.size]
    return float((ranks.sum() - right.size * (right.size + 1) / 2) / (right.size * wrong.size))


def found_at_false_alarms(answerable: ArrayLike, unanswerable: ArrayLike, *, rate: float = FALSE_ALARMS) -> float:
    """The share of the unanswerable questions below a threshold that at most `rate` of the answerable ones are below.

    The threshold is the `rate` quantile of the answerable questions' completeness: the value that ``⌊rate · n⌋`` of
    them come before in ascending order. The share lies in [0, 1]; higher is better, and chance is `rate`. It is NaN if
    one of the groups is empty.

    Raises:
        ValueError: the rate is not in [0, 1).
    """
    if not 0 <= rate < 1:
        raise ValueError(f"a rate of {rate} false alarms, allowed: 0 or more, less than 1")
    right, wrong = np.sort(np.asarray(answerable, dtype=float)), np.asarray(unanswerable, dtype=float)
    if not right.size or not wrong.size:
        return math.nan
    return float((wrong < right[math.floor(rate * right.size)]).mean())


@dataclass(frozen=True)
class RefusalScores:
    """Precision and recall of refusals, in 0 … 1; higher is better."""

    precision: float
    recall: float


def refusal_scores(answerable_refused: ArrayLike, unanswerable_refused: ArrayLike) -> RefusalScores:
    """How many of the refused questions are unanswerable, and how many of the unanswerable ones were refused, from a
    flag for each question that tells whether it was refused.

    On empty input as in `set_scores`: both are 1 if nothing was refused and nothing was unanswerable, and 0 if only one
    of these holds.
    """
    flags = np.concatenate([np.asarray(unanswerable_refused, dtype=bool), np.asarray(answerable_refused, dtype=bool)])
    found = set_scores(np.flatnonzero(flags).tolist(), range(np.size(unanswerable_refused)))
    return RefusalScores(found.precision, found.recall)


def completeness_calibration(answerable: ArrayLike, unanswerable: ArrayLike) -> float:
    """`expected_calibration_error` of completeness as the probability that a question is answerable; 0 without
    questions.

    Raises:
        ValueError: a completeness is not in [0, 1].
    """
    right, wrong = np.asarray(answerable, dtype=float), np.asarray(unanswerable, dtype=float)
    happened = np.concatenate([np.ones(right.size), np.zeros(wrong.size)])
    return expected_calibration_error(np.concatenate([right, wrong]), happened)
