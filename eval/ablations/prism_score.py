"""Scores of PRISM's evidence and answers, question by question."""

from __future__ import annotations

import math
from collections.abc import Collection, Hashable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from bgr.data.multihop.assemble import MultihopData, MultihopQuestion
from bgr.llm.usage import Usage
from bgr.metrics.answers import answer_em, answer_f1, answer_partial
from bgr.metrics.evidence_set import set_scores
from eval.ablations.prism_trace import checked, merge_of
from eval.passages.found import Found

SETS = ("precision", "recall", "f1")
PASSAGES = tuple(f"passage_{name}" for name in SETS)
FACTS = tuple(f"fact_{name}" for name in SETS)
ANSWERS = {"em": answer_em, "f1": answer_f1, "pma": answer_partial}
SIZES = ("passages", "sentences", "sentences_left", "words_left", "hallucinated")


@dataclass(frozen=True)
class VariantScores:
    """One variant: its results in the order of the questions, and ``float64 [questions]`` for each metric, NaN where a
    question has no value.

    ``passage_*`` and ``fact_*`` are precision, recall and F1 of passages and of sentences, NaN without gold (gold
    sentences of passages that the corpus lacks are not counted); ``em``, ``f1``, ``pma`` those of the answer, NaN
    without gold answers, 0 without an answer; ``passages`` and ``sentences`` the size of the evidence;
    ``sentences_left`` and ``words_left`` the share of the candidates that it keeps (1 minus the paper's context
    reduction), NaN without candidates; ``hallucinated`` how many names of sentences were dropped.
    """

    name: str
    found: tuple[Found, ...]
    scores: Mapping[str, np.ndarray]

    @property
    def usage(self) -> Usage:
        """Of all questions."""
        return sum((one.usage for one in self.found), Usage())

    def mean(self, metric: str) -> float:
        """Over the questions that have a value; NaN where none has."""
        column = self.scores[metric]
        there = column[~np.isnan(column)]
        return float(there.mean()) if len(there) else math.nan


def score_variant(name: str, found: Sequence[Found], data: MultihopData) -> VariantScores:
    """Score the results of all questions, in their order.

    Raises:
        DataError: a result has no trace of PRISM.
    """
    pairs = zip(data.questions, found, strict=True)
    rows = [score_question(checked(one, data), question) for question, one in pairs]
    metrics = (*PASSAGES, *FACTS, *ANSWERS, *SIZES)
    return VariantScores(name, tuple(found), {metric: np.array([row[metric] for row in rows]) for metric in metrics})


def score_question(found: Found, question: MultihopQuestion) -> dict[str, float]:
    """All metrics of one question."""
    return {
        **set_row(PASSAGES, found.passages, question.gold, missing=question.missing),
        **set_row(FACTS, found.sentences, question.sentences),
        **{
            metric: function(found.answer, question.answers) if question.answers else math.nan
            for metric, function in ANSWERS.items()
        },
        "passages": float(len(found.passages)),
        "sentences": float(len(found.sentences)),
        **merge_of(found),
    }


def set_row(
    metrics: Sequence[str], found: Collection[Hashable], gold: Collection[Hashable], *, missing: int = 0
) -> dict[str, float]:
    """Precision, recall and F1 under these names (see `set_scores`); NaN where nothing is gold."""
    scores = set_scores(found, gold, missing=missing) if gold or missing else None
    return {metric: getattr(scores, part, math.nan) for metric, part in zip(metrics, SETS, strict=True)}
