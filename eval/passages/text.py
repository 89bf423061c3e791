"""The comparison as one Markdown file."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from eval.passages.compare import PassageComparison
from eval.passages.groups import GROUPINGS
from eval.passages.score import KEY, RECALLS
from eval.passages.tables import (
    PAIRS_NOTE,
    ROUNDS_NOTE,
    groups_table,
    notes,
    pairs_table,
    rounds_table,
    steps_table,
    systems_table,
)
from eval.report.tables import markdown_table

PLOT = "recall.png"
PARETO = "pareto.png"


def as_markdown(comparison: PassageComparison) -> str:
    """All tables, each under a line that says which corpus and data it is of; then what was compared."""
    of = corpus_line(comparison.about)
    key = [metric for metric in KEY if metric in comparison.metrics]
    parts = ["# Passage retrieval", "## Systems", of, markdown_table(*systems_table(comparison)), *notes(comparison)]
    parts += [f"![Recall by system]({PLOT})"] if set(RECALLS) & set(comparison.metrics) else []
    parts += [f"![Quality against tokens and seconds]({PARETO})"]
    if comparison.pairs:
        parts += ["## Differences", PAIRS_NOTE]
        for metric in key:
            table = pairs_table(comparison, metric)
            if table[1]:
                parts += [f"### {metric}", of, markdown_table(*table)]
    for by in GROUPINGS:
        if len({getattr(question, by) for question in comparison.data.questions}) > 1:
            parts += [f"## By {by}", of]
            for metric in key:
                parts += [f"{metric}, percent", markdown_table(*groups_table(comparison, by, metric))]
    rounds = rounds_table(comparison)
    if rounds[1]:
        parts += ["## By round", of, markdown_table(*rounds), ROUNDS_NOTE]
    steps = steps_table(comparison)
    if steps[1]:
        parts += ["## By step, all questions", of, markdown_table(*steps)]
    parts += ["## What was compared", "\n".join(f"- {name}: {value}" for name, value in comparison.about.items())]
    return "\n\n".join(parts) + "\n"


def corpus_line(about: Mapping[str, Any]) -> str:
    """Sizes and hashes, as they stand over every table."""
    lost = about["gold_passages_not_in_corpus"]
    own = ", each question over those that come with it" if about.get("scope") == "question" else ""
    return (
        f"{about['data']}: {about['questions']:,} questions (data {about['data_hash'][:12]}…), "
        f"{about['passages']:,} passages (corpus {about['corpus_hash'][:12]}…){own}, "
        f"{about['gold_passages']:,} gold passages"
        + (f", of which the corpus lacks {lost:,} (they count as not found)" if lost else "")
        + "."
    )
