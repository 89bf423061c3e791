"""`bgr ablate wording`: the same questions in phrasings that training has never seen, and in known ones.

The questions of a split by wording differ from those of train and dev in more than their phrasings: a question with
many facts has many phrasings, so it is more often held out. Asking the same question twice changes its words alone.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from bgr.data.atlas.sampler.read_draft import Rewording
from bgr.data.example import Example
from bgr.data.kb.knowledge_base import KnowledgeBase
from bgr.data.kb.program import Program
from bgr.data.reasongraphqa.construction.questions import Question, read_questions
from bgr.data.reasongraphqa.io.dataset import load_split
from bgr.errors import DataError
from bgr.utils.atomic_io import output_folder, without_nan, write_json, write_text
from eval.ablations.options import AblateWordingOptions
from eval.ablations.spelling import COLUMNS, load_pipeline, question_scores
from eval.report.document import NONE, Document, Section, Table, interval_text
from eval.run.significance import Interval, bootstrap_means, interval

NEW, KNOWN, DIFFERENCE = "new", "known", "difference"

NOTE = (
    "GM, F1 and right answers in percent; in brackets 95 % intervals (bootstrap over questions). New: the words of the "
    "test split, each question with a phrasing that train and dev never use, or worded by hand. Known: the same "
    "questions in phrasings that they use, drawn anew. The difference is paired."
)


@dataclass(frozen=True)
class WordingStudy:
    """Means of the columns `COLUMNS` over the same questions in new and in known phrasings, and of known minus new."""

    rows: Mapping[str, Sequence[Interval]]
    about: Mapping[str, Any]

    def to_json(self) -> dict[str, Any]:
        rows = {name: dict(zip(COLUMNS, map(vars, found), strict=True)) for name, found in self.rows.items()}
        return without_nan({"about": dict(self.about), "wordings": rows})

    def table(self) -> Table:
        """One row for each wording, and one for the difference."""
        rows = [[name, *map(_text, found)] for name, found in self.rows.items()]
        return Table.of(["phrasings", *COLUMNS], rows, notes=(NOTE,))


def _text(found: Interval) -> str:
    return NONE if np.isnan(found.mean) else interval_text(found, "")


def ablate_wording(options: AblateWordingOptions) -> WordingStudy:
    """Ask every question with an answer in both wordings, and write the report.

    Raises:
        BgrError: the checkpoint, the reader or the data are damaged, the data are not a split by wording of the
            questions of `kqapro`, or the folder exists.
    """
    with output_folder(options.out, overwrite=options.overwrite) as folder:
        pairs, total = reworded(options)
        pipeline, about = load_pipeline(options)
        new, known = (question_scores(pipeline, examples) for examples in zip(*pairs, strict=True))
        rows = {NEW: new, KNOWN: known, DIFFERENCE: known - new}
        about |= {
            "kqapro": str(options.kqapro),
            "questions": len(pairs),
            "without_known_words": total - len(pairs),
            "seed": options.seed,
        }
        study = WordingStudy({name: _intervals(scores) for name, scores in rows.items()}, about)
        write_json(folder / "wording.json", study.to_json())
        document = Document("Wordings", (Section("wordings", "Wordings", (study.table(),)),), about)
        write_text(folder / "wording.md", document.as_markdown())
    return study


def _intervals(scores: np.ndarray) -> list[Interval]:
    means = bootstrap_means(scores)
    return [interval(scores[:, column], means[:, column]) for column in range(len(COLUMNS))]


def reworded(options: AblateWordingOptions) -> tuple[list[tuple[Example, Example]], int]:
    """Test questions as they are and in phrasings of Atlas, and how many questions there were; those that can only be
    worded with a new phrasing are left out. Known are the phrasings of train and dev, or of all questions of `kqapro`
    if the dataset is a sheet, all of it for the test, in words that are no phrasings."""
    asked = {one.id: one for one in read_questions(options.kqapro, progress=True).questions}
    examples = load_split(options.data, "test")[: options.limit]
    # also the questions without an answer have phrasings
    trained = [one for split in ("train", "dev") for one in load_split(options.data, split, unanswerable=True)]
    if trained:
        known = {used for one in trained for used in _source(one, asked, options).phrasings}
        originals = _in_new_phrasings(examples, asked, options, known)
    else:
        known = {used for one in asked.values() for used in one.phrasings}
        originals = [one for one in examples if one.program]
    words = Rewording(KnowledgeBase.load(options.kqapro / "kb.json", progress=True), options.seed)
    pairs = []
    for example in originals:
        question = words.question(Program.from_json(example.program, example.id), known, example.id)
        if question is not None:
            pairs.append((example, replace(example, question=question)))
    if not pairs:
        raise DataError(f"{options.data}: no question of test can be asked in phrasings of {options.kqapro}")
    return pairs, len(examples)


def _in_new_phrasings(
    examples: Sequence[Example], asked: Mapping[str, Question], options: AblateWordingOptions, known: set[str]
) -> list[Example]:
    """The examples but for paraphrases, each with a phrasing that is not known."""
    sources = {one.id: _source(one, asked, options) for one in examples}
    originals = [one for one in examples if sources[one.id].paraphrase_of is None]
    if not originals or any(known.issuperset(sources[one.id].phrasings) for one in originals):
        raise DataError(f"{options.data}: test has no new phrasings, allowed: `bgr data build --split wording`")
    return originals


def _source(example: Example, asked: Mapping[str, Question], options: AblateWordingOptions) -> Question:
    """The question of an example as `bgr atlas` wrote it."""
    source = asked.get(example.id)
    if source is None or source.text != example.question:
        raise DataError(f"{options.data}: question {example.id} is not one of {options.kqapro}")
    if not source.phrasings and source.paraphrase_of is None:
        raise DataError(f"{source.where}: phrasings is missing or empty, allowed: questions of `bgr atlas`")
    return source
