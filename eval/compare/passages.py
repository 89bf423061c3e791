"""Systems side by side on the same questions: means with intervals, and tests between any two."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
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


@dataclass(frozen=True)
class Pair:
    """Two systems by one metric: first minus second, its paired bootstrap and its sign test."""

    first: str
    second: str
    metric: str
    difference: Difference
    signs: SignTest


@dataclass(frozen=True)
class PassageComparison:
    """Systems scored on the questions of `data`, in the order given; `intervals` by system and metric; `pairs` of any
    two, the one that was given later first."""

    data: MultihopData
    systems: tuple[SystemScores, ...]
    intervals: Mapping[str, Mapping[str, Interval]]
    pairs: tuple[Pair, ...]
    about: Mapping[str, Any]
    price: Price | None = None

    @property
    def within(self) -> bool:
        """True where each question was searched for among the passages that come with it."""
        return self.about.get("scope") == "question"

    @property
    def metrics(self) -> tuple[str, ...]:
        """Those that some system has."""
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
    """Intervals and paired tests by one bootstrap over questions, which all systems and metrics share.

    Args:
        systems: scored on `data`.
        data: the questions.
        about: what was compared; the corpus' and data's sizes and hashes and the bootstrap's numbers are added.
        samples: resampled sets of questions.
        seed: of the resampling.
        price: of the language model's tokens, for the cost.

    Raises:
        BgrError: two systems have one name, or no question has gold.
    """
    names = [one.name for one in systems]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise BgrError(f"two systems have the name {twice!r}, allowed: each once")
    intervals: dict[str, dict[str, Interval]] = {name: {} for name in names}
    pairs: list[Pair] = []
    for metrics in ((*RECALLS, *SETS), GRAPHS, ANSWERS):  # each over the questions that it has scores for
        for name, metric, found in _family(systems, metrics, samples, seed, pairs):
            intervals[name][metric] = found
    if not any(intervals.values()):
        raise BgrError(f"{data.name}: no question has a gold passage in it, nothing to score")
    extra = {**describe(data), "bootstrap_samples": samples, "seed": seed}
    return PassageComparison(data, tuple(systems), intervals, tuple(pairs), {**about, **extra}, price)


def describe(data: MultihopData) -> dict[str, Any]:
    """Sizes and hashes, and what the files had to be forgiven."""
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


def _family(
    systems: Sequence[SystemScores], metrics: Sequence[str], samples: int, seed: int, pairs: list[Pair]
) -> Iterable[tuple[str, str, Interval]]:
    """Intervals of the metrics that are there for the same questions; appends the pairs."""
    columns = [(one.name, metric) for one in systems for metric in metrics if metric in one.scores]
    if not columns:
        return
    by_name = {one.name: one for one in systems}
    scores = np.stack([by_name[name].scores[metric] for name, metric in columns], axis=1)
    scores = scores[~np.isnan(scores).any(axis=1)]
    if not len(scores):
        return
    means = bootstrap_means(scores, samples=samples, seed=seed)
    place = {column: number for number, column in enumerate(columns)}
    for (name, metric), number in place.items():
        yield name, metric, interval(scores[:, number], means[:, number])
    for metric in metrics:
        for second, first in combinations([one.name for one in systems if metric in one.scores], 2):
            a, b = place[first, metric], place[second, metric]
            difference = bootstrap_difference(scores[:, a], scores[:, b], means[:, a] - means[:, b])
            pairs.append(Pair(first, second, metric, difference, sign_test(scores[:, a], scores[:, b])))
