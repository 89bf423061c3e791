"""The ablation on disk: Markdown, JSON and CSV."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from bgr.data.multihop.assemble import MultihopData
from bgr.utils.atomic_io import without_nan, write_csv, write_json, write_text
from eval.ablations.prism_errors import error_shares, recall_against_answers
from eval.ablations.prism_rounds import by_rounds
from eval.ablations.prism_score import VariantScores
from eval.ablations.prism_tables import (
    ANSWERS_NOTE,
    CONTEXTS,
    COST_NOTE,
    ERRORS_NOTE,
    EVIDENCE_NOTE,
    MATCH_NOTE,
    ROUNDS_NOTE,
    answers_table,
    cost_table,
    errors_table,
    evidence_table,
    match_table,
    rounds_table,
)
from eval.passages.text import corpus_line
from eval.report.tables import markdown_table

GROUPINGS = ("kind", "hops")


def write_prism(folder: Path, variants: Sequence[VariantScores], data: MultihopData, about: Mapping[str, Any]) -> None:
    """Write ``prism.md``, ``prism.json``, ``variants.csv``, ``rounds.csv`` and ``errors.csv``; each takes its name only
    when it is whole.

    Raises:
        DataError: the folder cannot be written.
    """
    found = as_json(variants, data, about)
    rows = [
        {"variant": name, **one["mean"], **_prefixed(one["usage"], "usage")} for name, one in found["variants"].items()
    ]
    rounds = [{"variant": name, **row} for name, one in found["variants"].items() for row in one["rounds"]]
    errors = [
        {"variant": name, "by": by, "subset": subset, "group": group, "share": share, "n": shares["n"]}
        for name, one in found["variants"].items()
        for by, subsets in one["errors"].items()
        for subset, shares in subsets.items()
        for group, share in shares.items()
        if group != "n"
    ]
    of = {name: about[name] for name in ("data", "data_hash", "corpus_hash")}
    of["corpus_passages"] = about["passages"]  # the rows have passages of their own
    write_text(folder / "prism.md", as_markdown(variants, data, about))
    write_json(folder / "prism.json", found)
    for name, lines in (("variants", rows), ("rounds", rounds), ("errors", errors)):
        write_csv(folder / f"{name}.csv", [{**line, **of} for line in lines])


def as_json(variants: Sequence[VariantScores], data: MultihopData, about: Mapping[str, Any]) -> dict[str, Any]:
    """All numbers with all their digits; what is no number is ``null``."""
    return without_nan({"about": dict(about), "variants": {one.name: _variant(one, data) for one in variants}})


def as_markdown(variants: Sequence[VariantScores], data: MultihopData, about: Mapping[str, Any]) -> str:
    """All tables; those of rounds for the longest run, those of errors for the first variant that searches."""
    parts = ["# PRISM", corpus_line(about), "## Evidence", markdown_table(*evidence_table(variants)), EVIDENCE_NOTE]
    parts += ["## Answers", markdown_table(*answers_table(variants)), ANSWERS_NOTE]
    parts += ["## Cost", markdown_table(*cost_table(variants)), COST_NOTE]
    longest = longest_run(variants, data)
    if longest is not None:
        parts += [f"## Rounds of {longest.name}", markdown_table(*rounds_table(longest, data)), ROUNDS_NOTE]
    parts += ["## Recall and answers", markdown_table(*match_table(variants)), MATCH_NOTE]
    for one in [one for one in variants if one.name not in CONTEXTS][:1]:
        for by in GROUPINGS:
            if len({getattr(question, by) for question in data.questions}) > 1:
                table = markdown_table(*errors_table(one, data, by))
                parts += [f"## Errors of {one.name} by {by}", table, ERRORS_NOTE]
    parts += ["## What was run", "\n".join(f"- {name}: {value}" for name, value in about.items())]
    return "\n\n".join(parts) + "\n"


def longest_run(variants: Iterable[VariantScores], data: MultihopData) -> VariantScores | None:
    """The variant with most rounds, the first of equals: N = 1, 2, … is read off its traces."""
    rounds = [(len(by_rounds(one, data)), one) for one in variants]
    most, found = max(rounds, key=lambda pair: pair[0], default=(0, None))
    return found if most else None


def _variant(one: VariantScores, data: MultihopData) -> dict[str, Any]:
    return {
        "n": len(one.found),
        "mean": {metric: one.mean(metric) for metric in one.scores},
        "usage": one.usage.to_json(),
        "seconds": sum(found.whole_seconds for found in one.found),
        "rounds": by_rounds(one, data),
        "recall_and_answers": recall_against_answers(one),
        "errors": {by: error_shares(one, data, by) for by in GROUPINGS},
    }


def _prefixed(row: Mapping[str, Any], name: str) -> dict[str, Any]:
    return {f"{name}_{part}": value for part, value in row.items()}
