"""`bgr ablate spelling`: the same questions in lower case, without a question mark, with typing mistakes."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from bgr.data.example import Example
from bgr.data.reasongraphqa.io.dataset import dataset_hash, load_split, recipe_of
from bgr.errors import DataError
from bgr.metrics.answers import answer_match
from bgr.metrics.evidence_set import evidence_set
from bgr.metrics.gm_gs import graph_match
from bgr.pipeline import BgrPipeline
from bgr.retrievers.base import Query
from bgr.utils.atomic_io import output_folder, write_json, write_text
from bgr.utils.spelling import with_typo, without_mark
from eval.ablations.options import AblateSpellingOptions, AblateWordingOptions
from eval.report.document import NONE, Document, Section, Table, percent

WRITTEN = "as written"

SPELLINGS: Mapping[str, Callable[[str, random.Random], str]] = {
    WRITTEN: lambda question, draw: question,
    "lower case": lambda question, draw: question.lower(),
    "no question mark": lambda question, draw: without_mark(question),
    "one typing mistake": with_typo,
    "two typing mistakes": lambda question, draw: with_typo(with_typo(question, draw), draw),
    "lower, no mark, one mistake": lambda question, draw: with_typo(without_mark(question), draw).lower(),
}
COLUMNS = ("GM", "F1", "exact")
"""The scores of a question, in the order of `question_scores`."""

NOTE = (
    "GM, F1 and right answers in percent; the last column is the difference to the questions as they are written. A "
    "typing mistake is in a word of four or more letters that is neither a name nor a number."
)


@dataclass(frozen=True)
class SpellingScores:
    """Means over `n` questions in 0 … 1; `exact` is ``None`` without a reader."""

    spelling: str
    gm: float
    f1: float
    exact: float | None
    n: int


@dataclass(frozen=True)
class SpellingStudy:
    """The scores of each spelling, and what was run."""

    scores: tuple[SpellingScores, ...]
    about: Mapping[str, Any]

    def to_json(self) -> dict[str, Any]:
        return {"about": dict(self.about), "spellings": [asdict(one) for one in self.scores]}

    def table(self) -> Table:
        """One row for each spelling."""
        first = self.scores[0]
        rows = [
            [one.spelling, *(percent(value) for value in (one.gm, one.f1, one.exact)), _less(one, first), str(one.n)]
            for one in self.scores
        ]
        return Table.of(["spelling", "GM", "F1", "exact", "less", "n"], rows, notes=(NOTE,))


def _less(one: SpellingScores, first: SpellingScores) -> str:
    return NONE if one.exact is None or first.exact is None else f"{100 * (first.exact - one.exact):.1f}"


def ablate_spelling(options: AblateSpellingOptions) -> SpellingStudy:
    """Ask every question in each spelling, and write the report.

    Raises:
        BgrError: the checkpoint, the reader or the data are damaged, or the folder exists.
    """
    with output_folder(options.out, overwrite=options.overwrite) as folder:
        examples = load_split(options.data, options.split)[: options.limit]
        if not examples:
            raise DataError(f"{options.data}: the split {options.split!r} is empty")
        pipeline, about = load_pipeline(options)
        scores = tuple(
            score(pipeline, name, [_spelled(example, spell, options.seed) for example in examples])
            for name, spell in SPELLINGS.items()
        )
        about |= {"split": options.split, "questions": len(examples), "seed": options.seed}
        found = SpellingStudy(scores, about)
        write_json(folder / "spelling.json", found.to_json())
        document = Document("Spellings", (Section("spellings", "Spellings", (found.table(),)),), about)
        write_text(folder / "spelling.md", document.as_markdown())
    return found


def load_pipeline(options: AblateSpellingOptions | AblateWordingOptions) -> tuple[BgrPipeline, dict[str, Any]]:
    """The pipeline of a checkpoint, and what a report says about it and the data.

    Raises:
        BgrError: the checkpoint, the reader or the data are damaged.
    """
    pipeline = BgrPipeline.from_pretrained(
        options.checkpoint, reader=options.reader, device=options.device, precision=options.precision
    )
    return pipeline, {
        "checkpoint": str(options.checkpoint),
        "reader": options.reader or "the checkpoint's" if pipeline.reader is not None else "none",
        "data": str(options.data),
        "recipe": recipe_of(options.data),
        "data_hash": dataset_hash(options.data),
    }


def score(pipeline: BgrPipeline, spelling: str, examples: Sequence[Example]) -> SpellingScores:
    """The scores of a pipeline on questions in one spelling."""
    scores = question_scores(pipeline, examples)
    gm, f1 = scores[:, :2].mean(axis=0).tolist()
    exact = scores[:, 2][~np.isnan(scores[:, 2])]
    return SpellingScores(spelling, gm=gm, f1=f1, exact=float(exact.mean()) if len(exact) else None, n=len(examples))


def question_scores(pipeline: BgrPipeline, examples: Sequence[Example]) -> np.ndarray:
    """``[questions, COLUMNS]``: graph match and F1 of the evidence in 0 … 1, and whether the answer is right; NaN
    without a reader or a known answer."""
    answers = pipeline.answer_all([Query(one.question, one.facts) for one in examples], progress=True)
    return np.array(
        [
            [
                graph_match(found.graph, example.graph),
                evidence_set(found.graph, example.graph).f1,
                answer_match(found.text, example.answer) if pipeline.reader and example.answer else np.nan,
            ]
            for found, example in zip(answers, examples, strict=True)
        ],
        dtype=np.float64,
    )


def _spelled(example: Example, spell: Callable[[str, random.Random], str], seed: int) -> Example:
    return replace(example, question=spell(example.question, random.Random(f"{seed} {example.id}")))
