"""A report on disk and on screen: one row for each system, then the main system's results broken down."""

from __future__ import annotations

import csv
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from bgr.data.example import Example
from bgr.errors import BgrError
from bgr.graph.evidence_graph import EvidenceGraph
from eval.report.plots import plot_groups, plot_hops_by_chains
from eval.report.tables import markdown_table, text_table
from eval.run.breakdown import GROUPINGS, breakdown, hops_by_chains
from eval.run.evaluate import Evaluation

PERCENT = {"gm": "GM", "gs": "GS", "f1": "F1", "precision": "P", "recall": "R", "em": "EM"}
DISTANCE = {"ged": "GED", "ged_labelled": "GED-l"}
COLUMNS = ("gm", "gs", "ged", "ged_labelled", "f1", "precision", "recall", "em")
"""The order of the paper's Table 4."""

UNITS = "GM, GS and the evidence set (F1, P, R, EM) in percent; GED in edits, GED-l where the facts' identity counts."

Table = tuple[list[str], list[list[str]]]


def systems_table(evaluations: Sequence[Evaluation]) -> Table:
    """Header and one row for each system: GM, GS, F1, P, R, EM in percent, GED in edits, n, milliseconds a question;
    QA EM in percent where a system has answers."""
    released = any("ged_released" in evaluation.mean for evaluation in evaluations)
    answered = any("qa_em" in evaluation.mean for evaluation in evaluations)
    extra = [*(["QA EM"] if answered else []), *(["GED-released"] if released else [])]
    header = ["system", *_titles(), *extra, "n", "ms/question"]
    rows = []
    for evaluation in evaluations:
        mean = evaluation.mean
        seconds = mean.get("seconds_per_question")
        rows.append(
            [
                evaluation.name,
                *_cells(mean),
                *([_answered(mean)] if answered else []),
                *([f"{mean['ged_released']:.2f}"] if released else []),
                str(int(mean["n"])),
                "–" if seconds is None else f"{1000 * seconds:.1f}",
            ]
        )
    return header, rows


def breakdown_table(evaluation: Evaluation, by: str) -> Table:
    """Header and one row for each group of one system."""
    return _groups_table(evaluation, by, breakdown(evaluation, by))


def hops_by_chains_table(evaluation: Evaluation) -> Table:
    """Header and one row for each pair of hops and chains (paper, Table 6)."""
    groups = {f"{hops} / {chains}": mean for (hops, chains), mean in hops_by_chains(evaluation).items()}
    return _groups_table(evaluation, "hops / chains", groups)


def _groups_table(evaluation: Evaluation, title: str, groups: Mapping[str, Mapping[str, float]]) -> Table:
    answered = "qa_em" in evaluation.mean
    rows = [
        [group, *_cells(mean), *([_answered(mean)] if answered else []), str(int(mean["n"]))]
        for group, mean in groups.items()
    ]
    return [title, *_titles(), *(["QA EM"] if answered else []), "n"], rows


def notes(evaluations: Sequence[Evaluation]) -> list[str]:
    """What a reader of the table must know: searches cut short and decoding limits reached, if any."""
    lines = []
    for evaluation in evaluations:
        mean = evaluation.mean
        for metric, title in DISTANCE.items():
            if cut := int(mean[f"{metric}_not_exact"]):
                bounds = f"the mean lies in {mean[f'{metric}_lower']:.2f} to {mean[metric]:.2f}"
                lines.append(f"{evaluation.name}: {title} ran out of time on {cut} questions; {bounds}")
        if limits := int(mean["limits_reached"]):
            lines.append(f"{evaluation.name}: decoding met a limit on {limits} questions")
    return lines


def as_text(evaluations: Sequence[Evaluation], main: str) -> str:
    """The whole report as plain text."""
    chosen = named(evaluations, main)
    parts = [text_table(*systems_table(evaluations)), UNITS, *notes(evaluations)]
    for by in ("type", "structure", "hops", "chains"):
        parts += ["", f"{main}, by {by}", text_table(*breakdown_table(chosen, by))]
    return "\n".join(parts)


def as_markdown(evaluations: Sequence[Evaluation], main: str, about: Mapping[str, Any]) -> str:
    """The whole report as Markdown, `about` first."""
    chosen = named(evaluations, main)
    parts = ["# Evaluation", "\n".join(f"- {name}: {value}" for name, value in about.items())]
    parts += [
        markdown_table(*systems_table(evaluations)),
        UNITS,
        *notes(evaluations),
    ]
    for by in GROUPINGS:
        parts += [f"## {main}, by {by}", markdown_table(*breakdown_table(chosen, by))]
    parts += [f"## {main}, by hops and chains", markdown_table(*hops_by_chains_table(chosen))]
    return "\n\n".join(part for part in parts if part) + "\n"


def as_json(evaluations: Sequence[Evaluation], main: str, about: Mapping[str, Any]) -> dict[str, Any]:
    """All means and breakdowns of all systems; scores in 0 … 1."""
    systems = {
        evaluation.name: {
            "all": evaluation.mean,
            **{by: breakdown(evaluation, by) for by in GROUPINGS},
            "hops_by_chains": {f"{h},{c}": mean for (h, c), mean in hops_by_chains(evaluation).items()},
        }
        for evaluation in evaluations
    }
    return {"about": dict(about), "main": main, "systems": systems}


def write_report(
    folder: Path, evaluations: Sequence[Evaluation], examples: Sequence[Example], main: str, about: Mapping[str, Any]
) -> None:
    """Write ``metrics.json``, ``metrics.csv``, ``metrics.md``, ``predictions.jsonl``, ``groups.png`` and
    ``hops_by_chains.png``.

    Args:
        folder: an existing folder.
        main: the system whose results are broken down and plotted.
        about: what was evaluated (checkpoint, data and its hash, split …), for the head of the report.
    """
    content = as_json(evaluations, main, about)
    (folder / "metrics.json").write_text(json.dumps(content, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
    (folder / "metrics.md").write_text(as_markdown(evaluations, main, about), encoding="utf-8")
    write_csv(folder / "metrics.csv", content["systems"])
    write_predictions(folder / "predictions.jsonl", evaluations, examples)
    plot_groups(named(evaluations, main), folder / "groups.png")
    plot_hops_by_chains(named(evaluations, main), folder / "hops_by_chains.png")


def named(evaluations: Sequence[Evaluation], name: str) -> Evaluation:
    """The evaluation of one system.

    Raises:
        BgrError: there is none of that name.
    """
    for evaluation in evaluations:
        if evaluation.name == name:
            return evaluation
    raise BgrError(f"no system {name!r}, there are: {', '.join(e.name for e in evaluations)}")


def _titles() -> list[str]:
    return [(PERCENT | DISTANCE)[metric] for metric in COLUMNS]


def _cells(mean: Mapping[str, float]) -> list[str]:
    return [f"{100 * mean[m]:.2f}" if m in PERCENT else f"{mean[m]:.2f}" for m in COLUMNS]


def _answered(mean: Mapping[str, float]) -> str:
    return f"{100 * mean['qa_em']:.2f}" if "qa_em" in mean else "–"


def write_csv(path: Path, systems: Mapping[str, Any]) -> None:
    """One line for each system and group: ``system, grouping, group`` and every mean."""
    lines = []
    for system, tables in systems.items():
        for grouping, groups in (
            {"all": {"": tables["all"]}} | {k: v for k, v in tables.items() if k != "all"}
        ).items():
            lines += [{"system": system, "grouping": grouping, "group": g, **mean} for g, mean in groups.items()]
    names = list(dict.fromkeys(name for line in lines for name in line))
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, names)
        writer.writeheader()
        writer.writerows(lines)


def write_predictions(path: Path, evaluations: Sequence[Evaluation], examples: Sequence[Example]) -> None:
    """One line for each question: the example, and each system's graph and scores; its answer where one was read."""
    with path.open("w", encoding="utf-8") as file:
        for place, example in enumerate(examples):
            systems = {e.name: _prediction(e, place) for e in evaluations}
            record = {**example.to_json(), "predictions": systems}
            file.write(json.dumps(record, ensure_ascii=False) + "\n")


def _prediction(evaluation: Evaluation, place: int) -> dict[str, Any]:
    row, result = evaluation.rows[place], evaluation.results[place]
    scores = {metric: getattr(row, metric) for metric in COLUMNS}
    exact = {"ged_exact": row.ged_exact, "ged_labelled_exact": row.ged_labelled_exact}
    answer = {} if evaluation.answers is None else {"answer": evaluation.answers[place], "qa_em": row.qa_em}
    return {"edges": _scored_edges(result.graph), **scores, **exact, **answer, "limits": list(result.limits)}


def _scored_edges(graph: EvidenceGraph) -> list[list[float]]:
    """``[a, b]`` or ``[a, b, score]`` for each edge."""
    return [[a, b, round(graph.scores[a, b], 6)] if (a, b) in graph.scores else [a, b] for a, b in sorted(graph.edges)]
