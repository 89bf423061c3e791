"""Comparison of systems by passages: means with intervals, and tests between any two systems."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np

from bgr.data.multihop.assemble import MultihopData
from bgr.errors import BgrError
from bgr.llm.usage import Price
from eval.run.passage_scores import ANSWERS, GRAPHS, METRICS, RECALLS, SETS, SystemScores
from eval.run.significance import (
    SAMPLES,
    Difference,
    Interval,
    SignTest,
    bootstrap_difference,
    bootstrap_means,
    interval,
    sign_test,
)

LOWER_IS_BETTER = frozenset({"GED"})
"""Metrics of which a lower score is better: GED counts edits."""


@dataclass(frozen=True)
class Pair:
    """First minus second of two systems by one metric: paired bootstrap and sign test, in which better means lower for
    the metrics of `LOWER_IS_BETTER`."""

    first: str
    second: str
    metric: str
    difference: Difference
    signs: SignTest


@dataclass(frozen=True)
class PassageComparison:
    """Systems scored on the questions of `data`; `intervals` by system and metric; `pairs` of any two systems, the
    later one first."""

    data: MultihopData
    systems: tuple[SystemScores, ...]
    intervals: Mapping[str, Mapping[str, Interval]]
    pairs: tuple[Pair, ...]
    about: Mapping[str, Any]
    price: Price | None = None

    @property
    def within(self) -> bool:
        """True if each question was searched among its own passages."""
        return self.about.get("scope") == "question"

    @property
    def metrics(self) -> tuple[str, ...]:
        """The metrics that some system has, in the order of `METRICS`."""
        return tuple(m for m in METRICS if any(m in found for found in self.intervals.values()))


def compare_passages(
    systems: Sequence[SystemScores],
    data: MultihopData,
    about: Mapping[str, Any],
    *,
    samples: int = SAMPLES,
    seed: int = 0,
    price: Price | None = None,
) -> PassageComparison:
    """Intervals and paired tests by one bootstrap over questions, which all systems and metrics share. `describe` of
    the data, `samples` (resampled sets of questions) and `seed` are added to `about`.

    Raises:
        BgrError: two systems have the same name, or no question has gold.
    """
    names = [one.name for one in systems]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise BgrError(f"two systems have the name {twice!r}, allowed: each once")
    intervals: dict[str, dict[str, Interval]] = {name: {} for name in names}
    pairs: list[Pair] = []
    for metrics in ((*RECALLS, *SETS), GRAPHS, ANSWERS):  # each over the questions with these scores
        columns = {(one.name, m): one.scores[m] for one in systems for m in metrics if m in one.scores}
        scores = np.stack(list(columns.values()), axis=1) if columns else np.empty((0, 0))
        scores = scores[~np.isnan(scores).any(axis=1)]
        if not len(scores):
            continue
        means = bootstrap_means(scores, samples=samples, seed=seed)
        place = {column: number for number, column in enumerate(columns)}
        for (name, metric), number in place.items():
            intervals[name][metric] = interval(scores[:, number], means[:, number])
        for metric in metrics:
            for second, first in combinations([name for name in names if (name, metric) in place], 2):
                a, b = place[first, metric], place[second, metric]
                difference = bootstrap_difference(scores[:, a], scores[:, b], means[:, a] - means[:, b])
                better = -1 if metric in LOWER_IS_BETTER else 1
                signs = sign_test(better * scores[:, a], better * scores[:, b])
                pairs.append(Pair(first, second, metric, difference, signs))
    if not any(intervals.values()):
        raise BgrError(f"{data.name}: no question has a gold passage in it, nothing to score")
    extra = {**describe(data), "bootstrap_samples": samples, "seed": seed}
    return PassageComparison(data, tuple(systems), intervals, tuple(pairs), {**about, **extra}, price)


def describe(data: MultihopData) -> dict[str, Any]:
    """Sizes, hashes and repaired defects of the data."""
    return {
        "data": data.name,
        "questions": len(data.questions),
        "passages": len(data.corpus),
        "corpus_hash": data.corpus.hash,
        "data_hash": data.hash,
        "gold_passages": sum(len(q.gold) + q.missing for q in data.questions),
        "gold_passages_not_in_corpus": data.missing,
        "questions_without_gold": sum(not q.gold and not q.missing for q in data.questions),
        "passages_repeated": data.repeated,
        "questions_not_answerable_left_out": data.left_out,
    }


def corpus_line(about: Mapping[str, Any]) -> str:
    """One line with the sizes and hashes of `describe`."""
    lost = about["gold_passages_not_in_corpus"]
    own = ", each question over those that come with it" if about.get("scope") == "question" else ""
    return (
        f"{about['data']}: {about['questions']:,} questions (data {about['data_hash'][:12]}…), "
        f"{about['passages']:,} passages (corpus {about['corpus_hash'][:12]}…){own}, "
        f"{about['gold_passages']:,} gold passages"
        + (f", of which the corpus lacks {lost:,} (they count as not found)" if lost else "")
        + "."
    )
