"""Report of `bgr ablate candidates`: one table, a figure, and the points as JSON and CSV."""

from __future__ import annotations

import math
from dataclasses import asdict
from pathlib import Path

from bgr.utils.atomic_io import write_json, write_text
from eval.ablations.candidate_points import CandidateStudy, Point
from eval.ablations.options import OWN
from eval.report.document import NONE, Document, Figure, Section, Table, number_text, percent, write_csv
from eval.report.size_plots import Line, plot_candidates

NOTES = (
    "GM, GS and F1 in percent. GM ratio: GM divided by GM with the questions' own candidates, or, without these, with "
    "the smallest number. Kept R: the share of the gold facts, in percent, among the facts that a system keeps after "
    "its first stage, if its results tell.",
    "Random, bm25 and rivals: the facts that were added. Where a question has more candidates of its own, some are "
    "removed at random; gold facts are never removed. An added fact neither entails nor contradicts a gold fact.",
    "MB: the highest resident set (on a GPU: PyTorch's allocations) during the calls of a row beyond that before them.",
)


def points_table(study: CandidateStudy) -> Table:
    """One row for each point."""
    header = ["system", "facts added", "candidates", "GM", "GM ratio", "GS", "F1", "kept R", "s/question", "MB"]
    rows = [_row(point) for point in study.points]
    notes = [*NOTES, *(_note(point) for point in study.points if point.failure or _is_short(point))]
    return Table.of([*header, "limits", "n"], rows, notes=tuple(notes))


def _row(point: Point) -> list[str]:
    count = OWN if point.count is None else str(point.count)
    return [
        point.system,
        point.fill or NONE,
        count,
        *(percent(point.gm), _number(point.gm_ratio, ".2f"), percent(point.gs), percent(point.f1)),
        percent(point.kept_recall),
        _number(point.seconds, ".4f"),
        _number(None if point.memory is None else point.memory / 1e6, ",.0f"),
        NONE if point.limits is None else str(point.limits),
        str(point.n),
    ]


def _number(value: float | None, form: str) -> str:
    return NONE if value is None else number_text(value, form)


def _is_short(point: Point) -> bool:
    return point.count is not None and point.candidates < point.count


def _note(point: Point) -> str:
    where = f"{point.system}, {point.fill or OWN}, {point.count or ''}".rstrip(", ")
    if point.failure:
        return f"{where}: {point.failure}"
    return f"{where}: the facts that fit bring a question to {point.candidates:.1f} candidates on average"


def lines_of(study: CandidateStudy) -> dict[str, Line]:
    """A line for each system and filling: numbers of candidates, GM and F1 in percent, seconds, and megabytes. It
    begins with the questions' own candidates at their mean number."""
    lines: dict[str, Line] = {}
    names = dict.fromkeys((point.system, point.fill) for point in study.points)
    filled = [name for name in names if name[1] is not None]
    for system, fill in filled or names:
        points = [one for one in study.points if one.system == system and one.fill in (None, fill)]
        drawn = sorted((one for one in points if one.failure is None), key=lambda one: one.candidates)
        lines[f"{system}, {fill}" if fill else system] = Line(
            [point.candidates for point in drawn],
            {
                "gm": [100 * (point.gm or 0.0) for point in drawn],
                "f1": [100 * (point.f1 or 0.0) for point in drawn],
                "seconds": [point.seconds or math.nan for point in drawn],
                "memory": [(point.memory or math.nan) / 1e6 for point in drawn],
            },
        )
    return lines


def write_candidates(folder: Path, study: CandidateStudy) -> None:
    """Write ``candidates.json``, ``candidates.csv``, ``candidates.md`` and ``candidates.png`` into an existing
    folder."""
    picture = folder / "candidates.png"
    plot_candidates(lines_of(study), f"n = {study.points[0].n}", picture)
    write_json(folder / "candidates.json", study.to_json())
    write_csv(folder / "candidates.csv", [asdict(point) for point in study.points])
    section = Section("candidates", "Systems and candidates", (points_table(study), Figure("candidates", picture)))
    write_text(folder / "candidates.md", Document("Numbers of candidates", (section,), study.about).as_markdown())
