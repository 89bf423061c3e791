"""Scores of PRISM's evidence and answers by question, round and kind of question, from the traces of its results.

Evidence by rounds (paper, Table 15) is exact if equal requests get equal replies, since no request of a round depends
on the number of rounds that follow. Answers by rounds are not known: each number of rounds has evidence of its own.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from bgr.data.multihop.assemble import MultihopData, MultihopQuestion
from bgr.errors import DataError
from bgr.llm.usage import Usage
from bgr.metrics.answers import answer_em, answer_f1, answer_partial
from bgr.metrics.evidence_set import set_scores
from bgr.utils.json_utils import one_line
from eval.run.passage_scores import mean, usage_until
from eval.run.question_result import QuestionResult

SETS = ("precision", "recall", "f1")
PASSAGES = tuple(f"passage_{name}" for name in SETS)
FACTS = tuple(f"fact_{name}" for name in SETS)
ANSWERS = {"em": answer_em, "f1": answer_f1, "pma": answer_partial}
SIZES = ("passages", "sentences", "sentences_left", "words_left", "hallucinated")

RECALL, MATCH = "passage_recall", "em"
"""The metrics behind "recall" and "match" in the tables of errors: recall of passages, exact match of answers."""


@dataclass(frozen=True)
class VariantScores:
    """One variant: its results in the order of the questions, and float64 [questions] for each metric, NaN if a
    question has no value.

    ``passage_*`` and ``fact_*`` are precision, recall and F1 of passages and of sentences, NaN without gold (gold
    sentences of passages that the corpus lacks are not counted); ``em``, ``f1`` and ``pma`` score the answer, NaN
    without gold answers, 0 without an answer; ``passages`` and ``sentences`` are the size of the evidence, and
    ``sentences_left`` and ``words_left`` its share of the candidates (1 minus the paper's context reduction), NaN
    without candidates; ``hallucinated`` is the number of dropped names of sentences.
    """

    name: str
    found: tuple[QuestionResult, ...]
    scores: Mapping[str, np.ndarray]

    @property
    def usage(self) -> Usage:
        return sum((one.usage for one in self.found), Usage())

    def mean(self, metric: str) -> float:
        """The mean over the questions that have a value; NaN if none has."""
        return mean(self.scores[metric])


def score_variant(name: str, found: Sequence[QuestionResult], data: MultihopData) -> VariantScores:
    """Score the results of all questions, in their order.

    Raises:
        DataError: a result has no trace of PRISM.
    """
    pairs = zip(data.questions, found, strict=True)
    rows = [_score_question(checked(one, data), question) for question, one in pairs]
    metrics = (*PASSAGES, *FACTS, *ANSWERS, *SIZES)
    return VariantScores(
        name, tuple(found), {metric: np.array([row[metric] for row in rows], dtype=float) for metric in metrics}
    )


def _score_question(found: QuestionResult, question: MultihopQuestion) -> dict[str, float]:
    row = set_row(PASSAGES, found.passages, question.gold, missing=question.missing)
    row |= set_row(FACTS, found.sentences, question.sentences)
    for metric, function in ANSWERS.items():
        row[metric] = function(found.answer, question.answers) if question.answers else math.nan
    return {**row, "passages": len(found.passages), "sentences": len(found.sentences), **merge_of(found)}


def set_row(
    metrics: Sequence[str], found: Collection[Hashable], gold: Collection[Hashable], *, missing: int = 0
) -> dict[str, float]:
    """Precision, recall and F1 under these names (see `set_scores`); NaN without gold."""
    scores = set_scores(found, gold, missing=missing) if gold or missing else None
    return {metric: getattr(scores, part, math.nan) for metric, part in zip(metrics, SETS, strict=True)}


def checked(found: QuestionResult, data: MultihopData) -> QuestionResult:
    """The result itself, if its trace, which comes from a file, is complete.

    Raises:
        DataError: the trace is damaged, or of another method.
    """
    try:
        if any(type(step.get("round", 0)) is not int for step in found.trace):
            raise ValueError("a step's round is no number")
        rounds = sorted(rounds_of(found))
        if rounds != list(range(1, len(rounds) + 1)):
            raise ValueError("the rounds are not numbered from 1")
        evidence_after(found, data, len(rounds))
        sum((*usage_until(found, len(rounds)).values(), reading_tokens(found), *merge_of(found).values()))
    except (ArithmeticError, AttributeError, IndexError, KeyError, TypeError, ValueError) as error:
        problem = f"no trace of PRISM ({type(error).__name__}: {one_line(error)}); give another --out, or --overwrite"
        raise DataError(f"result of {found.id}: {problem}") from None
    return found


def rounds_of(found: QuestionResult) -> dict[int, Mapping[str, Any]]:
    """The record at the end of each round, by the number of the round."""
    return {step["round"]: step for step in found.trace if step.get("step") == "round"}


def evidence_after(found: QuestionResult, data: MultihopData, number: int) -> list[tuple[str, int]]:
    """The evidence of the first `number` rounds: ids of passages with numbers of sentences."""
    rounds = rounds_of(found)
    rows = [row for n in sorted(rounds) if n <= number for row in rounds[n].get("evidence", ())]
    return list(dict.fromkeys((data.corpus[place].id, sentence) for place, sentence in rows))


def reading_tokens(found: QuestionResult) -> float:
    """Tokens read in the step that answers."""
    usages = [step["usage"] for step in found.trace if step.get("step") == "answer"]
    return sum(math.nan if one.get("uncounted") else one["tokens_in"] for one in usages)


def merge_of(found: QuestionResult) -> dict[str, float]:
    """The share of the candidates' sentences and words that is left, and the number of dropped names."""
    record = next((step for step in found.trace if step.get("step") == "merge"), {})
    sizes = record.get("sizes", {})
    whole, left = sizes.get("candidates", {}), sizes.get("evidence", {})
    shares = {unit: left[unit] / whole[unit] if whole.get(unit) else math.nan for unit in ("sentences", "words")}
    return {f"{unit}_left": share for unit, share in shares.items()} | {"hallucinated": record.get("hallucinated", 0)}


def by_rounds(variant: VariantScores, data: MultihopData) -> list[dict[str, float]]:
    """``[{rounds, passage_precision, …, fact_f1, passages, sentences, calls, tokens}]`` for N = 1, 2, …

    Means over the questions that have gold; sizes, calls (including cached ones) and tokens (read and written, without
    those of the answer) over all questions. Empty if the traces have no rounds.
    """
    last = max((number for found in variant.found for number in rounds_of(found)), default=0)
    return [_round_row(variant, data, number) for number in range(1, last + 1)]


def _round_row(variant: VariantScores, data: MultihopData, number: int) -> dict[str, float]:
    rows = []
    for question, found in zip(data.questions, variant.found, strict=True):
        sentences = evidence_after(found, data, number)
        passages = list(dict.fromkeys(passage for passage, _ in sentences))
        row = set_row(PASSAGES, passages, question.gold, missing=question.missing)
        row |= set_row(FACTS, sentences, question.sentences)
        rows.append(row | {"passages": len(passages), "sentences": len(sentences)} | usage_until(found, number))
    means = {name: mean(np.array([row[name] for row in rows], dtype=float)) for name in rows[0]}
    return {"rounds": float(number), **means}


def error_shares(variant: VariantScores, data: MultihopData, by: str) -> dict[str, dict[str, float]]:
    """``{subset: {"n": questions, group: share of them}}`` by ``kind`` or ``hops`` (Tables 9 to 12)."""
    groups = [str(getattr(question, by)) or "–" for question in data.questions]
    names = list(dict.fromkeys(str(value) or "–" for value in sorted({getattr(q, by) for q in data.questions})))
    recall, match = variant.scores[RECALL], variant.scores[MATCH]
    subsets = {"all": np.ones(len(recall), dtype=bool), "recall < 1": recall < 1, "answer wrong": match < 1}
    found = {}
    for subset, rows in subsets.items():
        here = [group for group, is_in in zip(groups, rows, strict=True) if is_in]
        shares = {name: here.count(name) / len(here) if here else math.nan for name in names}
        found[subset] = {"n": float(len(here)), **shares}
    return found


def recall_against_answers(variant: VariantScores) -> dict[str, float]:
    """Table 13, over the questions with gold passages and gold answers.

    ``complete`` and ``incomplete`` count the questions with recall 1 and below; ``wrong_at_complete`` and
    ``right_at_incomplete`` are shares of these, as in the table's header. ``complete_of_wrong`` is the share of the
    wrong answers that have recall 1, as in the paper's text. Shares of nothing are NaN.
    """
    recall, match = variant.scores[RECALL], variant.scores[MATCH]
    there = ~np.isnan(recall) & ~np.isnan(match)
    complete, wrong = recall[there] >= 1, match[there] < 1
    return {
        "complete": float(complete.sum()),
        "incomplete": float((~complete).sum()),
        "wrong": float(wrong.sum()),
        "wrong_at_complete": _share(wrong & complete, complete),
        "right_at_incomplete": _share(~wrong & ~complete, ~complete),
        "complete_of_wrong": _share(wrong & complete, wrong),
    }


def _share(part: np.ndarray, whole: np.ndarray) -> float:
    return float(part.sum() / whole.sum()) if whole.any() else math.nan
