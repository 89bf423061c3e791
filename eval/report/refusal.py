"""Questions without an answer in reports: what each system refuses, and how well its completeness tells them apart."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from bgr.metrics.refusal import FALSE_ALARMS
from eval.report.document import NONE, Table, decimal, percent
from eval.run.evaluate import Evaluation
from eval.run.refusal import ANY, Refusals

TITLE = "Questions without an answer"
KINDS = {ANY: "without an answer", "one": "one fact missing", "all": "all facts missing"}
NOTE = (
    "AUC: the probability that a question with an answer has the higher completeness (chance: 0.5). Found: the share "
    f"below a threshold that at most {100 * FALSE_ALARMS:.0f} % of the questions with an answer are below. Refused: "
    "the share whose graph is empty. Precision: the share of questions without an answer among all that were refused. "
    "ECE: calibration error of completeness. AUC and ECE in 0 to 1, the others in percent."
)


def refusal_table(evaluations: Sequence[Evaluation]) -> Table | None:
    """Rows for each system: the questions with an answer, those without, and these by what is missing, if the dataset
    tells. A system that neither estimates completeness nor refused anything has one row. ``None`` if no system was run
    on questions without an answer."""
    rows = [row for one in evaluations if one.refusals is not None for row in _rows(one.name, one.refusals)]
    header = ["system", "questions", "n", "AUC", "found", "refused", "precision", "ECE"]
    return Table.of(header, rows, notes=(NOTE,)) if rows else None


def _rows(name: str, found: Refusals) -> list[list[str]]:
    any_refused = found.refused or found.gaps[ANY].refused
    of_all = [percent(found.precision if any_refused else None), decimal(found.ece)]
    gaps = {
        kind: [name, KINDS[kind], str(gap.n), decimal(gap.auc), percent(gap.found), percent(gap.refused)]
        for kind, gap in found.gaps.items()
    }
    if found.never:
        return [[*gaps[ANY], *of_all]]
    first = [name, "with an answer", str(found.answerable), NONE, NONE, percent(found.refused), NONE, NONE]
    return [first, *([*cells, *(of_all if kind == ANY else [NONE, NONE])] for kind, cells in gaps.items())]


def refusal_json(evaluations: Sequence[Evaluation]) -> dict[str, Any]:
    """A part of ``metrics.json``: the refusals by system; empty if none was run on questions without an answer."""
    found = {one.name: one.refusals.to_json() for one in evaluations if one.refusals is not None}
    return {"refusal": found} if found else {}


def refusal_lines(found: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Lines of ``refusal.csv`` from `refusal_json`: one for each system and kind of gap, with what holds for all
    kinds."""
    return [
        {
            "system": system,
            "missing": kind,
            **gap,
            "answerable": one["answerable"],
            "answerable_refused": one["refused"],
            "precision": one["precision"],
            "ece": one["ece"],
        }
        for system, one in found.get("refusal", {}).items()
        for kind, gap in one["gaps"].items()
    ]
