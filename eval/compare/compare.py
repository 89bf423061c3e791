"""All systems side by side on the same questions: means with intervals, differences of any two, errors by kind."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np

from bgr.data.example import Example
from eval.run.breakdown import ErrorCounts, count_errors
from eval.run.evaluate import METRICS, Evaluation, named
from eval.run.significance import (
    SAMPLES,
    Difference,
    Interval,
    bootstrap_difference,
    bootstrap_means,
    interval,
    mcnemar,
)

GOLD = "gold graph"
"""Name of the system that is given the gold graph: the reader's bound."""
NOTHING = "no evidence"
"""Name of the system that retrieves nothing: what a reader says to the question alone."""

TITLES: Mapping[str, str] = {
    "gm": "GM",
    "gs": "GS",
    "ged": "GED",
    "f1": "F1",
    "precision": "P",
    "recall": "R",
    "em": "EM",
    "qa_em": "QA EM",
}
"""The columns of the paper's Table 4 in its order. GED is in edits, all others are shares of 1."""

PAIRED = ("gm", "f1", "qa_em")
"""Metrics by which two systems are compared: whole graphs, evidence sets and answers."""


@dataclass(frozen=True)
class Pair:
    """Two systems: for each metric of `PAIRED` that both have, first minus second. GM and QA EM carry McNemar's exact
    p-value, F1 that of the paired bootstrap."""

    first: str
    second: str
    differences: Mapping[str, Difference]


@dataclass(frozen=True)
class Comparison:
    """Systems scored on the same examples, in the order given; `intervals` by system and metric; `pairs` of all
    systems, those with `main` first."""

    examples: tuple[Example, ...]
    evaluations: tuple[Evaluation, ...]
    main: str
    about: Mapping[str, Any]
    intervals: Mapping[str, Mapping[str, Interval]]
    pairs: tuple[Pair, ...]
    errors: tuple[ErrorCounts, ...]

    @property
    def metrics(self) -> tuple[str, ...]:
        """The metrics that some system has, in the order of `TITLES`."""
        return tuple(m for m in TITLES if any(m in means for means in self.intervals.values()))


def compare(
    evaluations: Sequence[Evaluation],
    examples: Sequence[Example],
    main: str,
    about: Mapping[str, Any],
    *,
    samples: int = SAMPLES,
    seed: int = 0,
) -> Comparison:
    """Intervals and paired tests by one bootstrap over questions, which all systems and metrics share.

    Args:
        evaluations: the systems, scored on `examples`.
        examples: the questions.
        main: the system that the others are seen against.
        about: what was compared; the bootstrap's samples and seed are added.
        samples: resampled sets of questions.
        seed: of the resampling.

    Raises:
        BgrError: no system of the name `main`, or fewer than one sample.
    """
    named(evaluations, main)
    columns = [(one.name, m) for one in evaluations for m in (*METRICS, "qa_em") if m in one.mean and m in TITLES]
    by_name = {one.name: one for one in evaluations}
    scores = np.array([_scores(by_name[name], metric) for name, metric in columns]).T
    means = bootstrap_means(scores, samples=samples, seed=seed)
    place = {column: number for number, column in enumerate(columns)}
    intervals: dict[str, dict[str, Interval]] = {one.name: {} for one in evaluations}
    for (name, metric), number in place.items():
        intervals[name][metric] = interval(scores[:, number], means[:, number])
    order = [main, *(name for name in by_name if name != main)]
    pairs = tuple(_pair(a, b, place, scores, means) for a, b in combinations(order, 2))
    return Comparison(
        examples=tuple(examples),
        evaluations=tuple(evaluations),
        main=main,
        about={**about, "bootstrap_samples": samples, "seed": seed},
        intervals=intervals,
        pairs=pairs,
        errors=tuple(count_errors(one, examples) for one in evaluations),
    )


def _scores(evaluation: Evaluation, metric: str) -> np.ndarray:
    return np.array([float(getattr(row, metric)) for row in evaluation.rows])


def _pair(a: str, b: str, place: Mapping[tuple[str, str], int], scores: np.ndarray, means: np.ndarray) -> Pair:
    differences = {}
    for metric in PAIRED:
        if (a, metric) not in place or (b, metric) not in place:
            continue
        first, second = place[a, metric], place[b, metric]
        found = bootstrap_difference(scores[:, first], scores[:, second], means[:, first] - means[:, second])
        p = found.p if metric == "f1" else mcnemar(scores[:, first], scores[:, second])
        differences[metric] = Difference(found.interval, p)
    return Pair(a, b, differences)
