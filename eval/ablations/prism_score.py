"""Scores of PRISM's evidence and answers: question by question, by round and by kind of question; read off the traces
of its results.

Traces come from a file: `checked` refuses one that is damaged. Evidence by rounds (paper, Table 15) is exact where the
model gives one reply to one request, as no request of a round depends on the number of rounds that follow. Answers
cannot be read off: each number of rounds has its own evidence to answer from.
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

SUBSETS = ("all", "recall < 1", "answer wrong")


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
    found: tuple[QuestionResult, ...]
    scores: Mapping[str, np.ndarray]

    @property
    def usage(self) -> Usage:
        """Of all questions."""
        return sum((one.usage for one in self.found), Usage())

    def mean(self, metric: str) -> float:
        """Over the questions that have a value; NaN where none has."""
        return mean(self.scores[metric])


def score_variant(name: str, found: Sequence[QuestionResult], data: MultihopData) -> VariantScores:
    """Score the results of all questions, in their order.

    Raises:
        DataError: a result has no trace of PRISM.
    """
    pairs = zip(data.questions, found, strict=True)
    rows = [score_question(checked(one, data), question) for question, one in pairs]
    metrics = (*PASSAGES, *FACTS, *ANSWERS, *SIZES)
    return VariantScores(name, tuple(found), {metric: np.array([row[metric] for row in rows]) for metric in metrics})


def score_question(found: QuestionResult, question: MultihopQuestion) -> dict[str, float]:
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


def checked(found: QuestionResult, data: MultihopData) -> QuestionResult:
    """The result, if all that is read off its trace can be read.

    Raises:
        DataError: the trace is damaged, or another method's.
    """
    try:
        if any(type(step.get("round", 0)) is not int for step in found.trace):
            raise ValueError("a step's round is no number")
        rounds = sorted(rounds_of(found))
        if rounds != list(range(1, len(rounds) + 1)):
            raise ValueError("the rounds are not numbered from 1")
        evidence_after(found, data, len(rounds))
        numbers = (*usage_until(found, len(rounds)).values(), reading_tokens(found), *merge_of(found).values())
        sum(numbers)
    except (ArithmeticError, AttributeError, IndexError, KeyError, TypeError, ValueError) as error:
        problem = f"{type(error).__name__}: {one_line(error)}"
        raise DataError(
            f"result of {found.id}: no trace of PRISM ({problem}); give another --out, or --overwrite"
        ) from None
    return found


def rounds_of(found: QuestionResult) -> dict[int, Mapping[str, Any]]:
    """The records of the rounds' ends, by the number of the round."""
    return {step["round"]: step for step in found.trace if step.get("step") == "round"}


def evidence_after(found: QuestionResult, data: MultihopData, number: int) -> list[tuple[str, int]]:
    """The union of the first rounds' evidence: ids of passages with numbers of sentences."""
    rounds = rounds_of(found)
    rows = [row for n in sorted(rounds) if n <= number for row in rounds[n].get("evidence", ())]
    return list(dict.fromkeys((data.corpus[place].id, sentence) for place, sentence in rows))


def reading_tokens(found: QuestionResult) -> float:
    """Tokens read in the step that answers."""
    usages = [step["usage"] for step in found.trace if step.get("step") == "answer"]
    return sum(math.nan if one.get("uncounted") else one["tokens_in"] for one in usages)


def merge_of(found: QuestionResult) -> dict[str, float]:
    """The shares of the candidates' sentences and words that are left (NaN without candidates), and the number of
    dropped names."""
    record = next((step for step in found.trace if step.get("step") == "merge"), {})
    sizes = record.get("sizes", {})
    all_of_it, left = sizes.get("candidates", {}), sizes.get("evidence", {})
    shares = {
        f"{unit}_left": left[unit] / all_of_it[unit] if all_of_it.get(unit) else math.nan
        for unit in ("sentences", "words")
    }
    return {**shares, "hallucinated": float(record.get("hallucinated", 0))}


def by_rounds(variant: VariantScores, data: MultihopData) -> list[dict[str, float]]:
    """``[{rounds, passage_precision, …, fact_f1, passages, sentences, calls, tokens}]`` for N = 1, 2, …

    Means over the questions that have gold; sizes, calls (cached ones too) and tokens (read and written, without those
    of the answer) over all. Empty where the traces have no rounds.
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
    return {
        "rounds": float(number),
        **{name: mean(np.array([row[name] for row in rows], dtype=float)) for name in rows[0]},
    }


def error_shares(variant: VariantScores, data: MultihopData, by: str) -> dict[str, dict[str, float]]:
    """``{subset: {"n": questions, group: share of them}}``, the subsets being `SUBSETS` and the groups in order
    (Tables 9 to 12).

    Args:
        variant: its scores.
        data: the questions.
        by: ``kind`` or ``hops``.
    """
    groups = [str(getattr(question, by)) or "–" for question in data.questions]
    names = list(dict.fromkeys(str(value) or "–" for value in sorted({getattr(q, by) for q in data.questions})))
    found = {}
    for subset, rows in _subsets(variant).items():
        here = [group for group, is_in in zip(groups, rows, strict=True) if is_in]
        shares = {name: here.count(name) / len(here) if here else float("nan") for name in names}
        found[subset] = {"n": float(len(here)), **shares}
    return found


def _subsets(variant: VariantScores) -> Mapping[str, np.ndarray]:
    recall, match = variant.scores[RECALL], variant.scores[MATCH]
    return {"all": np.ones(len(recall), dtype=bool), "recall < 1": recall < 1, "answer wrong": match < 1}


def recall_against_answers(variant: VariantScores) -> dict[str, float]:
    """Table 13, over the questions with gold passages and gold answers.

    ``complete`` and ``incomplete`` count the questions with recall 1 and below; ``wrong_at_complete`` and
    ``right_at_incomplete`` are shares of these, as the table's head says. ``complete_of_wrong`` is the share of the
    wrong answers that have recall 1, which is what the paper's text says of the same numbers. NaN where there is
    nothing to divide by.
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
    return float(part.sum() / whole.sum()) if whole.any() else float("nan")
