"""Answers of a reader: how many are right, by the operation of the question; how far its confidence can be trusted; and
what it says where there is no answer."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from bgr.data.example import Example
from bgr.metrics.answers import answer_match
from bgr.metrics.calibration import expected_calibration_error
from bgr.metrics.refusal import completeness_auc
from bgr.reader.reader import Reader, ReaderAnswer, ReaderInput
from bgr.retrievers.base import RetrievalResult

GOLD = "gold"
"""Answers from the gold graphs: what the reader alone can do."""

OPERATIONS: Mapping[str, str] = {
    "What": "name",
    "QueryName": "name",
    "Count": "count",
    "VerifyStr": "yes or no",
    "VerifyNum": "yes or no",
    "VerifyYear": "yes or no",
    "VerifyDate": "yes or no",
    "SelectBetween": "comparison",
    "SelectAmong": "superlative",
    "QueryAttr": "attribute",
    "QueryAttrUnderCondition": "attribute",
    "QueryAttrQualifier": "qualifier",
    "QueryRelation": "relation",
    "QueryRelationQualifier": "qualifier",
}
"""What a question asks for, by the last function of its program."""

OTHER = "other"
ALL = "all"


def operation_of(example: Example) -> str:
    """One of the values of `OPERATIONS`, or `OTHER`."""
    return OPERATIONS.get(example.program[-1]["function"], OTHER) if example.program else OTHER


@dataclass(frozen=True)
class Wrong:
    """A wrong answer: the question's place among the examples, and what the reader said; `right_graph` tells whether it
    had the gold graph."""

    place: int
    answer: ReaderAnswer
    right_graph: bool


@dataclass(frozen=True)
class AnswerScores:
    """The answers from the graphs of one system.

    Args:
        graphs: the system, or `GOLD`.
        right: whether the answer is right, for each question whose right answer is known.
        confidence: that of each of these answers, 0 without one; empty if the reader tells none.
        answers: the texts for all questions.
        exact: number of questions, and share of right answers in 0 … 1, by operation, with `ALL`.
        ece: calibration error of the confidence, over all questions with and without an answer; ``None`` if the reader
            tells none.
        auc: probability that an answer that is right has the higher confidence than one that is not.
        unanswerable: number of questions without an answer.
        unanswerable_auc: probability that a question with an answer has the higher confidence than one without;
            ``None`` without such questions.
        unanswerable_answered: share of them that got an answer.
        seconds: wall time of a question.
        wrong: the wrong answers.
    """

    graphs: str
    right: tuple[bool, ...]
    confidence: tuple[float, ...]
    answers: tuple[str | None, ...]
    exact: Mapping[str, tuple[int, float]]
    ece: float | None
    auc: float | None
    unanswerable: int = 0
    unanswerable_auc: float | None = None
    unanswerable_answered: float | None = None
    seconds: float = 0.0
    wrong: tuple[Wrong, ...] = ()
    unanswerable_confidence: tuple[float, ...] = field(default=())

    def to_json(self) -> dict[str, Any]:
        return {
            "n": len(self.right),
            "exact": {name: {"n": n, "exact": share} for name, (n, share) in self.exact.items()},
            "ece": self.ece,
            "auc": self.auc,
            "unanswerable": self.unanswerable,
            "unanswerable_auc": self.unanswerable_auc,
            "unanswerable_answered": self.unanswerable_answered,
            "seconds_per_question": self.seconds,
        }


def answers_of(
    reader: Reader,
    graphs: str,
    examples: Sequence[Example],
    results: Sequence[RetrievalResult],
    unanswerable: Sequence[Example] = (),
    refused: Sequence[RetrievalResult] = (),
    *,
    progress: bool = False,
) -> AnswerScores:
    """Let a reader answer from the `results` of a system for `examples`, and from those for questions without an
    answer, and score what it says."""
    both = [*zip(examples, results, strict=True), *zip(unanswerable, refused, strict=True)]
    items = [ReaderInput(e.question, e.facts, found.graph, found.completeness) for e, found in both]
    started = time.perf_counter()
    read = reader.answer(items, progress=progress)
    seconds = (time.perf_counter() - started) / max(1, len(items))
    said, silent = read[: len(examples)], read[len(examples) :]
    known = [place for place, example in enumerate(examples) if example.answer]
    right = [answer_match(said[place].text, examples[place].answer) for place in known]
    told = all(one.confidence is not None for one in read)
    sure = [said[place].confidence or 0.0 for place in known] if told else []
    unsure = [one.confidence or 0.0 for one in silent] if told else []
    wrong = [
        Wrong(place, said[place], results[place].graph.edges == examples[place].graph.edges)
        for place, good in zip(known, right, strict=True)
        if not good
    ]
    return AnswerScores(
        graphs=graphs,
        right=tuple(right),
        confidence=tuple(sure),
        answers=tuple(one.text for one in said),
        exact=_by_operation([examples[place] for place in known], right),
        ece=expected_calibration_error([*sure, *unsure], [*right, *[False] * len(unsure)]) if told else None,
        auc=_auc(
            [c for c, r in zip(sure, right, strict=True) if r], [c for c, r in zip(sure, right, strict=True) if not r]
        )
        if told
        else None,
        unanswerable=len(silent),
        unanswerable_auc=_auc(sure, unsure) if told else None,
        unanswerable_answered=sum(one.text is not None for one in silent) / len(silent) if silent else None,
        seconds=seconds,
        wrong=tuple(wrong),
        unanswerable_confidence=tuple(unsure),
    )


def _auc(higher: Sequence[float], lower: Sequence[float]) -> float | None:
    return completeness_auc(higher, lower) if higher and lower else None


def _by_operation(examples: Sequence[Example], right: Sequence[bool]) -> dict[str, tuple[int, float]]:
    groups: dict[str, list[bool]] = {ALL: list(right)}
    for example, good in zip(examples, right, strict=True):
        groups.setdefault(operation_of(example), []).append(good)
    order = [ALL, *dict.fromkeys(OPERATIONS.values()), OTHER]
    return {name: (len(groups[name]), sum(groups[name]) / len(groups[name])) for name in order if groups.get(name)}
