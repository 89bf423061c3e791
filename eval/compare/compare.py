"""Comparison of systems by evidence graphs: means with intervals, differences of any two systems, errors by kind."""

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
"""Name of the system that is given the gold graph: the upper bound of a reader."""
NOTHING = "no evidence"
"""Name of the system that retrieves nothing: the lower bound of a reader."""

Columns = dict[tuple[str, str], tuple[np.ndarray, np.ndarray]]
"""For a system and a metric the scores of the questions and their resampled means."""

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
    """First minus second of two systems, by each metric of `PAIRED` that both have. The p-value of GM and QA EM is
    McNemar's (exact), that of F1 is of the paired bootstrap."""

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
    """Intervals and paired tests by one bootstrap over questions, which all systems and metrics share. `main` names the
    reference system; `samples` (resampled sets of questions) and `seed` are added to `about`.

    Raises:
        BgrError: no system has the name `main`, or there is less than one sample.
    """
    named(evaluations, main)
    found: Columns = {}
    for metrics in (METRICS, ("qa_em",)):  # each over the questions with these scores: some answers may not be known
        columns = {
            (one.name, metric): [_number(getattr(row, metric)) for row in one.rows]
            for one in evaluations
            for metric in metrics
            if metric in one.mean and metric in TITLES
        }
        scores = np.array(list(columns.values())).T
        scores = scores[~np.isnan(scores).any(axis=-1)]
        if scores.size:
            means = bootstrap_means(scores, samples=samples, seed=seed)
            found |= {column: (scores[:, number], means[:, number]) for number, column in enumerate(columns)}
    intervals: dict[str, dict[str, Interval]] = {one.name: {} for one in evaluations}
    for (name, metric), of_one in found.items():
        intervals[name][metric] = interval(*of_one)
    order = [main, *(name for name in intervals if name != main)]
    pairs = tuple(_pair(a, b, found) for a, b in combinations(order, 2))
    return Comparison(
        examples=tuple(examples),
        evaluations=tuple(evaluations),
        main=main,
        about={**about, "bootstrap_samples": samples, "seed": seed},
        intervals=intervals,
        pairs=pairs,
        errors=tuple(count_errors(one, examples) for one in evaluations),
    )


def _number(score: float | None) -> float:
    return np.nan if score is None else float(score)


def _pair(a: str, b: str, columns: Columns) -> Pair:
    differences = {}
    for metric in PAIRED:
        if (a, metric) not in columns or (b, metric) not in columns:
            continue
        (first, means), (second, other_means) = columns[a, metric], columns[b, metric]
        found = bootstrap_difference(first, second, means - other_means)
        p = found.p if metric == "f1" else mcnemar(first, second)
        differences[metric] = Difference(found.interval, p)
    return Pair(a, b, differences)
