"""BridgeRAG's ablations on disk: Markdown, CSV and JSON."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bgr.utils.atomic_io import write_csv, write_json, write_text
from eval.ablations.bridgerag_judged import SVO, VARIANTS, Judged
from eval.ablations.bridgerag_rows import (
    Row,
    alpha_rows,
    diversity_rows,
    flips_rows,
    proximity_rows,
    sign_rows,
    systems_rows,
)
from eval.compare.tables import NONE, p_text
from eval.passages.score import RECALLS
from eval.passages.text import corpus_line
from eval.report.tables import markdown_table

MARKDOWN, JSON = "bridgerag.md", "bridgerag.json"

PERCENT = {*RECALLS, "difference", "churn", "win_rate", "productivity", "tune", "test", "recall"}
P_VALUES = {"p", "p_bonferroni"}
NAMES = {SVO: "A: SVO cosine alone", **VARIANTS}


@dataclass(frozen=True)
class Section:
    """A table: its file's name, its title, what its columns mean, its rows."""

    name: str
    title: str
    note: str
    rows: Sequence[Row]


def sections_of(judged: Sequence[Judged], alpha: float) -> list[Section]:
    """All tables; `alpha` is the weight of the SVO cosine in all but the sweep."""
    return [
        Section(
            "systems",
            "Conditions and bridges on one pool",
            "R@k in percent. Calls and tokens are those of one question, cached calls included; failed are steps of "
            "all questions, after which the order is that of condition A. there: questions that have such a bridge.",
            systems_rows(judged, alpha),
        ),
        Section(
            "tests",
            "Is the first better?",
            "Exact one-sided sign tests of R@5; difference in points. p_bonferroni is p times the number of kinds.",
            sign_rows(judged, alpha),
        ),
        Section(
            "flips",
            "Flip productivity (C against B)",
            "A flip: another set of first five. churn = flips / n, win_rate = wins / n, productivity = wins / flips, "
            "in percent.",
            flips_rows(judged, alpha),
        ),
        Section(
            "proximity",
            "Bridge proximity",
            "Spearman's ρ of the mean cosine of bridge and other gold passages with the gain R@5(C) − R@5(B).",
            proximity_rows(judged, alpha),
        ),
        Section(
            "diversity",
            "Pool diversity",
            "Mean size of the pool, titles in it, its recall in percent, mean 1 − cosine of two candidates, and "
            "Spearman's ρ of that with the gain.",
            diversity_rows(judged, alpha),
        ),
        Section(
            "alpha",
            "Weight of the SVO cosine (C)",
            "R@5 in percent on two disjoint halves, by the hash of the question's id; chosen on tune.",
            alpha_rows(judged),
        ),
    ]


def as_markdown(sections: Sequence[Section], about: Mapping[str, Any]) -> str:
    """All tables, each under a line that says which corpus and data it is of; then what was run."""
    of = corpus_line(about)
    parts = ["# BridgeRAG: ablations"]
    for one in sections:
        parts += [f"## {one.title}", of, *([markdown_table(*table(one.rows))] if one.rows else []), one.note]
    parts += ["## What was run", "\n".join(f"- {name}: {value}" for name, value in about.items())]
    return "\n\n".join(parts) + "\n"


def table(rows: Sequence[Row]) -> tuple[list[str], list[list[str]]]:
    """Header and cells as text."""
    return list(rows[0]), [[_cell(name, value) for name, value in row.items()] for row in rows]


def write_report(folder: Path, sections: Sequence[Section], about: Mapping[str, Any]) -> None:
    """Write ``bridgerag.md``, ``bridgerag.json`` and a CSV for each table; each takes its name only when it is whole.

    Raises:
        DataError: the folder cannot be written.
    """
    found = {"about": dict(about), **{one.name: one.rows for one in sections}}
    write_text(folder / MARKDOWN, as_markdown(sections, about))
    write_json(folder / JSON, found)
    of = {name: about[name] for name in ("data", "data_hash", "passages", "corpus_hash")}
    for one in sections:
        write_csv(folder / f"{one.name}.csv", [{**row, **of} for row in one.rows])


def _cell(name: str, value: Any) -> str:
    if isinstance(value, str):
        return NAMES.get(value, value)
    if isinstance(value, bool):
        return "yes" if value else ""
    if isinstance(value, int):
        return str(value)
    if value is None or math.isnan(value):
        return NONE
    if name in P_VALUES:
        return p_text(value)
    return f"{100 * value:.1f}" if name in PERCENT else f"{value:.3g}" if abs(value) < 100 else f"{value:.0f}"
