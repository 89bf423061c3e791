"""Scores of systems, question by question."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from bgr.llm.usage import Usage
from bgr.metrics.ranking import recalls_at
from bgr.metrics.short_answers import answer_em, answer_f1
from bgr.multihop.data import MultihopData
from eval.passages.found import Found

KS = (2, 5, 10, 15)
"""GEAR's are 5, 10 and 15 (its Table 2); 2 is that of two-hop questions."""

RECALLS = tuple(f"R@{k}" for k in KS)
ANSWERS = ("EM", "F1")


@dataclass(frozen=True)
class SystemScores:
    """One system: its results, and ``float64 [questions]`` for each metric, NaN where a question has no gold (R@k) or
    no answers (EM, F1). EM and F1 are there only where the system answered some question; one that it did not answer
    counts 0."""

    name: str
    found: tuple[Found, ...]
    scores: dict[str, np.ndarray]

    @property
    def usage(self) -> Usage:
        """Of all questions."""
        return sum((one.usage for one in self.found), Usage())

    @property
    def seconds(self) -> float:
        """For one question."""
        return sum(one.seconds for one in self.found) / len(self.found)


def score(name: str, found: Sequence[Found], data: MultihopData) -> SystemScores:
    """Score the results of all questions, in their order."""
    pairs = list(zip(data.questions, found, strict=True))
    recalls = np.array([recalls_at(one.passages, q.gold, KS, missing=q.missing) for q, one in pairs])
    scores = {metric: recalls[:, column] for column, metric in enumerate(RECALLS)}
    if any(one.answer is not None for one in found):
        for metric, function in zip(ANSWERS, (answer_em, answer_f1), strict=True):
            scores[metric] = np.array([function(one.answer, q.answers) if q.answers else np.nan for q, one in pairs])
    return SystemScores(name, tuple(found), scores)


def mean(scores: np.ndarray) -> float:
    """Over the questions that have a score; NaN where none has."""
    there = scores[~np.isnan(scores)]
    return float(there.mean()) if len(there) else float("nan")
