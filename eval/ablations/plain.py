"""`bgr ablate plain`: what people simply ask over a whole collection, and what the collection does not state.

Questions of the first kind are about one statement of the knowledge base. Those of the second have no answer, however
well a text fits their words: it is best to say nothing.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from bgr.ask import check_checkpoint, check_collection
from bgr.collection.collection import Collection
from bgr.data.kb.knowledge_base import KnowledgeBase
from bgr.errors import BgrError
from bgr.metrics.answers import answer_match
from bgr.metrics.refusal import completeness_auc
from bgr.pipeline import BgrPipeline
from bgr.retrievers.base import Query
from bgr.utils.atomic_io import output_folder, write_json, write_text
from bgr.utils.hashing import hash_file
from eval.ablations.options import AblatePlainOptions
from eval.ablations.plain_questions import PlainQuestion, load_patterns, plain_questions
from eval.report.document import NONE, Document, Section, Table, decimal, interval_text, percent
from eval.run.significance import bootstrap_means, interval

SURE = 0.8
"""Confidence from which an answer counts as sure."""

ALL = "all"

STATED_NOTE = (
    "In percent. Right: equal to the value of a statement with the head and predicate of the question. Silent: no "
    f"answer. Wrong and sure: a wrong answer with a confidence of {SURE} or more. In brackets 95 % intervals "
    "(bootstrap over questions)."
)
NOT_STATED_NOTE = (
    "In percent, lower is better: nothing in the knowledge base answers these questions. Answered and sure: with a "
    f"confidence of {SURE} or more."
)


@dataclass(frozen=True)
class PlainAnswer:
    """The answer to a question.

    Args:
        text: the answer; ``None`` if there was none.
        confidence: 0 without an answer, ``None`` if it is unknown.
        evidence: the texts that the answer was read from, in the order of reasoning.
    """

    question: PlainQuestion
    text: str | None
    confidence: float | None
    evidence: tuple[str, ...] = ()

    @property
    def stated(self) -> bool:
        """Whether the knowledge base states the answer."""
        return bool(self.question.answers)

    @property
    def right(self) -> bool:
        return any(answer_match(self.text, one) for one in self.question.answers)

    @property
    def sure(self) -> float:
        """1 if there is an answer with a confidence of `SURE` or more, else 0; NaN if the confidence is unknown."""
        if self.text is None:
            return 0.0
        return math.nan if self.confidence is None else float(self.confidence >= SURE)

    def to_json(self) -> dict[str, Any]:
        said = {"said": self.text, "confidence": self.confidence, "evidence": list(self.evidence)}
        return {**asdict(self.question), **said, **({"right": self.right} if self.stated else {})}


Score = Callable[[PlainAnswer], float]

STATED: Mapping[str, Score] = {
    "right": lambda one: float(one.right),
    "silent": lambda one: float(one.text is None),
    "wrong and sure": lambda one: 0.0 if one.right else one.sure,
}
NOT_STATED: Mapping[str, Score] = {
    "answered": lambda one: float(one.text is not None),
    "answered and sure": lambda one: one.sure,
}


@dataclass(frozen=True)
class PlainStudy:
    """All answers, and what was run."""

    answers: tuple[PlainAnswer, ...]
    about: Mapping[str, Any]

    @property
    def stated(self) -> list[PlainAnswer]:
        return [one for one in self.answers if one.stated]

    @property
    def not_stated(self) -> list[PlainAnswer]:
        return [one for one in self.answers if not one.stated]

    @property
    def auc(self) -> float | None:
        """The probability that a right answer has the higher confidence than what was said to a question without an
        answer, where saying nothing counts as 0; ``None`` if there are none of either, or a confidence is unknown."""
        right = [_confidence(one) for one in self.stated if one.right]
        found = completeness_auc(right, [_confidence(one) for one in self.not_stated])
        return None if math.isnan(found) else found

    def tables(self) -> tuple[Table, Table]:
        """The questions that the knowledge base answers by predicate, and the others by kind of thing."""
        return (
            _table("predicate", self.stated, STATED, STATED_NOTE),
            _table("about", self.not_stated, NOT_STATED, NOT_STATED_NOTE),
        )

    @property
    def line(self) -> str:
        return (
            "AUC of the confidence, right answers to the first against all that was said to the second (no answer: 0): "
            f"{decimal(self.auc)}"
        )

    def to_json(self) -> dict[str, Any]:
        return {
            "about": dict(self.about),
            "auc": self.auc,
            "stated": _rates(self.stated, STATED),
            "not_stated": _rates(self.not_stated, NOT_STATED),
            "questions": [one.to_json() for one in self.answers],
        }


def ablate_plain(options: AblatePlainOptions) -> PlainStudy:
    """Ask all questions over the collection, and write the report.

    Raises:
        BgrError: the checkpoint, the collection or the knowledge base are damaged, there is no reader, no question can
            be asked, or the folder exists.
    """
    with output_folder(options.out, overwrite=options.overwrite) as folder:
        check_checkpoint(options.checkpoint)
        texts_hash = check_collection(options.collection)
        pipeline = BgrPipeline.from_pretrained(
            options.checkpoint, reader=options.reader, device=options.device, precision=options.precision
        )
        if pipeline.reader is None:
            raise BgrError(f"{options.checkpoint}: the checkpoint has no reader to answer with; give one: --reader")
        file = options.kqapro / "kb.json"
        kb = KnowledgeBase.load(file, progress=True)
        questions = plain_questions(kb, load_patterns(), per=options.per, seed=options.seed, where=str(file))
        del kb  # of the full Atlas, more than a gigabyte
        collection = Collection.open(options.collection, progress=True)
        answers = ask_plain(pipeline, collection, questions)
        about = {
            "checkpoint": str(options.checkpoint),
            "reader": options.reader or "the checkpoint's",
            "collection": str(options.collection),
            "collection_hash": texts_hash,
            "sentences": len(collection),
            "kqapro": str(options.kqapro),
            "kb_hash": hash_file(file),
            "stated": sum(one.stated for one in answers),
            "not_stated": sum(not one.stated for one in answers),
            "per": options.per,
            "seed": options.seed,
        }
        found = PlainStudy(answers, about)
        write_json(folder / "plain.json", found.to_json())
        write_text(folder / "plain.md", _document(found).as_markdown())
    return found


def ask_plain(
    pipeline: BgrPipeline, collection: Collection, questions: Sequence[PlainQuestion]
) -> tuple[PlainAnswer, ...]:
    """The pipeline's answer to each question over a collection."""
    found = pipeline.answer_all([Query(one.text) for one in questions], collection=collection, progress=True)
    return tuple(
        PlainAnswer(question, answer.text, answer.confidence, tuple(one["text"] for one in answer.evidence))
        for question, answer in zip(questions, found, strict=True)
    )


def _document(found: PlainStudy) -> Document:
    stated, not_stated = found.tables()
    sections = (
        Section("stated", "What the knowledge base states", (stated,)),
        Section("not-stated", "What it does not state", (not_stated, found.line)),
    )
    return Document("Plain questions", sections, found.about)


def _confidence(one: PlainAnswer) -> float:
    """0 without an answer, NaN if it is unknown."""
    if one.text is None:
        return 0.0
    return math.nan if one.confidence is None else one.confidence


def _values(answers: Sequence[PlainAnswer], scores: Mapping[str, Score]) -> np.ndarray:
    return np.array([[score(one) for score in scores.values()] for one in answers], dtype=float)


def _groups(answers: Sequence[PlainAnswer]) -> dict[str, list[int]]:
    """The places of the answers of each group, all of them first."""
    found: dict[str, list[int]] = {ALL: list(range(len(answers)))}
    for place, one in enumerate(answers):
        found.setdefault(one.question.group, []).append(place)
    return found


def _rates(answers: Sequence[PlainAnswer], scores: Mapping[str, Score]) -> list[dict[str, Any]]:
    """The mean of each score in 0 … 1, by group; none without answers."""
    if not answers:
        return []
    values = _values(answers, scores)
    return [
        {"group": group, "n": len(rows), **dict(zip(scores, values[rows].mean(axis=0).tolist(), strict=True))}
        for group, rows in _groups(answers).items()
    ]


def _table(first: str, answers: Sequence[PlainAnswer], scores: Mapping[str, Score], note: str) -> Table:
    rows = [
        [one["group"], *(percent(one[name]) for name in scores), str(one["n"])] for one in _rates(answers, scores)
    ] or [[ALL, *(NONE for _ in scores), "0"]]
    if answers:
        values = _values(answers, scores)
        means = bootstrap_means(values)
        for column in range(len(scores)):
            if not np.isnan(values[:, column]).any():
                text = interval_text(interval(values[:, column], means[:, column]), first)
                rows[0][1 + column] = text
    return Table.of([first, *scores, "n"], rows, notes=(note,))
