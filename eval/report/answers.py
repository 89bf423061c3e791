"""Answers of a reader in reports: right ones by operation, the confidence, and a page of the wrong ones."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from bgr.data.example import Example
from bgr.utils.atomic_io import write_text
from eval.report.document import NONE, Document, Figure, Section, Table, decimal, percent
from eval.report.page import render
from eval.report.plots import BLUE, bare, new_figure
from eval.run.answers import ALL, GOLD, AnswerScores, operation_of

TITLE = "Answers"
NOTE = (
    "Exact: right answers in KQA Pro's form, in percent. ECE: calibration error of the confidence, over questions with "
    "and without an answer. AUC: the probability that a right answer has the higher confidence than a wrong one, and "
    "that a question with an answer has the higher one than a question without. Answered: questions without an answer "
    "that got one, in percent."
)
BINS = 10
SHOWN = 300
"""Wrong answers of one system on the page."""


def answers_table(scores: Sequence[AnswerScores]) -> Table:
    """One row for each system."""
    header = ["graphs", "exact", "n", "ECE", "AUC", "without an answer: n", "AUC", "answered", "ms/question"]
    rows = [
        [
            one.graphs,
            f"{100 * one.exact[ALL][1]:.1f}",
            str(one.exact[ALL][0]),
            decimal(one.ece),
            decimal(one.auc),
            str(one.unanswerable or NONE),
            decimal(one.unanswerable_auc),
            percent(one.unanswerable_answered),
            f"{1000 * one.seconds:.1f}",
        ]
        for one in scores
    ]
    return Table.of(header, rows, notes=(NOTE,))


def operations_table(scores: Sequence[AnswerScores]) -> Table:
    """One row for each operation, one column for each system."""
    names = list(scores[0].exact)
    rows = [
        [name, str(scores[0].exact[name][0]), *(f"{100 * one.exact[name][1]:.1f}" for one in scores)] for name in names
    ]
    return Table.of(["operation", "n", *(one.graphs for one in scores)], rows)


def answers_text(scores: Sequence[AnswerScores]) -> str:
    """Both tables for a terminal."""
    table = answers_table(scores)
    return "\n".join([TITLE, table.as_text(), *table.notes, "", "by operation", operations_table(scores).as_text()])


def answers_json(scores: Sequence[AnswerScores]) -> dict[str, Any]:
    """A part of ``metrics.json``."""
    return {one.graphs: one.to_json() for one in scores}


def write_answers(folder: Path, scores: Sequence[AnswerScores], examples: Sequence[Example]) -> None:
    """Write ``answers.md``, ``reliability.png`` (if the reader tells its confidence) and ``answers.html``, a page of
    the wrong answers, into an existing folder."""
    parts: list[Table | Figure] = [answers_table(scores)]
    told = [one for one in scores if one.confidence]
    if told:
        plot_reliability(told, folder / "reliability.png")
        parts.append(Figure("Confidence and right answers", folder / "reliability.png"))
    sections = (
        Section("answers", TITLE, tuple(parts)),
        Section("operations", "By operation", (operations_table(scores),)),
    )
    write_text(folder / "answers.md", Document("Answers", sections).as_markdown())
    wrong = tuple(_wrong_section(one, examples) for one in scores)
    write_text(folder / "answers.html", render(Document("Answers", (*sections, *wrong))))


def _wrong_section(scores: AnswerScores, examples: Sequence[Example]) -> Section:
    """The wrong answers of one system: by operation, what was asked, said and right, and the facts that were read."""
    parts: list[str | Table] = []
    groups: dict[str, list[list[str]]] = {}
    for one in scores.wrong[:SHOWN]:
        example = examples[one.place]
        read = ", ".join(example.facts[fact] for fact in one.answer.support) or NONE
        graph = [] if scores.graphs == GOLD else ["right" if one.right_graph else "wrong"]
        sure = NONE if one.answer.confidence is None else f"{one.answer.confidence:.2f}"
        said = one.answer.text or "no answer"
        groups.setdefault(operation_of(example), []).append(
            [example.question, said, example.answer, sure, *graph, read, example.id]
        )
    header = ["question", "answer", "right answer", "confidence", *([] if scores.graphs == GOLD else ["graph"])]
    for name, rows in groups.items():
        parts += [f"{name}: {len(rows)} wrong", Table.of([*header, "read in", "id"], rows, prose=True)]
    if len(scores.wrong) > SHOWN:
        parts.append(f"{len(scores.wrong) - SHOWN:,} more are not shown.")
    return Section(f"wrong-{scores.graphs}", f"Wrong answers, {scores.graphs} graphs", tuple(parts))


def plot_reliability(scores: Sequence[AnswerScores], path: Path) -> None:
    """The share of right answers against the confidence, in ten bins of equal width, and the number of questions in
    each (with those without an answer, whose answers count as wrong)."""
    figure = new_figure(4.2 * len(scores), 4.4)
    panels = figure.subplots(2, len(scores), squeeze=False, sharex=True, height_ratios=(3, 1))
    for column, one in enumerate(scores):
        sure = np.array([*one.confidence, *one.unanswerable_confidence])
        right = np.array([*one.right, *[False] * len(one.unanswerable_confidence)])
        bins = np.minimum((sure * BINS).astype(int), BINS - 1)
        counts = np.bincount(bins, minlength=BINS)
        filled = np.flatnonzero(counts)
        mean = np.bincount(bins, weights=sure, minlength=BINS)[filled] / counts[filled]
        share = np.bincount(bins, weights=right, minlength=BINS)[filled] / counts[filled]
        upper, lower = panels[:, column]
        upper.plot([0, 1], [0, 1], color="#999999", linewidth=0.8, linestyle="--")
        upper.plot(mean, share, marker="o", color=BLUE)
        upper.set(xlim=(0, 1), ylim=(0, 1.03))
        upper.set_title(f"{one.graphs} graphs, ECE {one.ece:.3f}", loc="left", fontsize=10, parse_math=False)
        lower.bar((np.arange(BINS) + 0.5) / BINS, counts, 0.9 / BINS, color=BLUE)
        lower.set_xlabel("confidence")
        for axes in (upper, lower):
            bare(axes, grid="y")
    panels[0, 0].set_ylabel("share of right answers")
    panels[1, 0].set_ylabel("questions")
    figure.savefig(path, dpi=150, format="png")
