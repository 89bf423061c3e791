"""Questions without an answer in reports: what each system refuses, and how well its completeness tells them apart."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from bgr.metrics.refusal import FALSE_ALARMS
from eval.report.document import NONE, Table, percent
from eval.run.evaluate import Evaluation
from eval.run.refusal import ANY, Refusals

TITLE = "Questions without an answer"
KINDS = {ANY: "without an answer", "one": "one fact missing", "all": "all facts missing"}
NOTE = (
    "AUC: the chance that a question with an answer has the higher completeness (0.5: nothing is told apart). Found: "
    f"the share below a threshold that at most {FALSE_ALARMS:.0%} of the questions with an answer are below. Refused: "
    "the share whose graph is empty. Precision: the share of questions without an answer among the refused ones. ECE: "
    "calibration error of completeness. All but AUC and ECE in percent."
)


def refusal_table(evaluations: Sequence[Evaluation]) -> Table | None:
    """Rows for each system that estimates completeness: the questions with an answer, those without, and these by what
    is missing, if the dataset tells; ``None`` if no system does."""
    rows = [row for one in evaluations if one.refusals is not None for row in _rows(one.name, one.refusals)]
    header = ["system", "questions", "n", "AUC", "found", "refused", "precision", "ECE"]
    return Table.of(header, rows, notes=(NOTE,)) if rows else None


def _rows(name: str, found: Refusals) -> list[list[str]]:
    rows = [[name, "with an answer", str(found.answerable), NONE, NONE, percent(found.refused), NONE, NONE]]
    for kind, gap in found.gaps.items():
        of_all = [percent(found.precision), f"{found.ece:.3f}"] if kind == ANY else [NONE, NONE]
        rows.append(
            [name, KINDS[kind], str(gap.n), f"{gap.auc:.3f}", percent(gap.found), percent(gap.refused), *of_all]
        )
    return rows


def refusal_json(evaluations: Sequence[Evaluation]) -> dict[str, Any]:
    """A part of ``metrics.json``: the refusals by system; empty if no system estimates completeness."""
    found = {one.name: one.refusals.to_json() for one in evaluations if one.refusals is not None}
    return {"refusal": found} if found else {}


def refusal_lines(found: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Lines of ``refusal.csv`` from `refusal_json`: one for each system and kind of gap."""
    return [
        {"system": system, "missing": kind, **gap, **{f"all_{name}": value for name, value in one.items()}}
        for system, whole in found.get("refusal", {}).items()
        for one in [{name: value for name, value in whole.items() if name != "gaps"}]
        for kind, gap in whole["gaps"].items()
    ]
