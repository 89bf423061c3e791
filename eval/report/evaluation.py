"""Reports of `bgr evaluate`: the systems, the main system's results by group, the kinds of error, the sweep over γ."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from bgr.data.example import Example
from bgr.models.truncation import truncation_text
from bgr.utils.atomic_io import write_json, write_lines, write_text
from eval.report.answers import answers_json, write_answers
from eval.report.document import NONE, Document, Figure, Part, Section, Table, listing, percent, write_csv
from eval.report.plots import plot_groups, plot_hops_by_chains, plot_sweep
from eval.report.refusal import TITLE, refusal_json, refusal_lines, refusal_table
from eval.run.answers import AnswerScores
from eval.run.breakdown import ERROR_KINDS, GROUPINGS, ErrorCounts, breakdown, hops_by_chains
from eval.run.evaluate import METRICS, Evaluation, named
from eval.run.sweep import SINGLE, Sweep

PERCENT = {"gm": "GM", "gs": "GS", "f1": "F1", "precision": "P", "recall": "R", "em": "EM"}
DISTANCE = {"ged": "GED", "ged_labelled": "GED-l"}
PAIRS = "hops / chains"
UNITS = "GM, GS and the evidence set (F1, P, R, EM) in percent; GED in edits, GED-l where the facts' identity counts."
SWEEP_UNITS = (
    "GM, GS and F1 in percent, GED in edits. Best γ: the greatest mean of GM and F1, of equal ones the smallest."
)
EXAMPLES = 5
"""Number of examples of each kind of error."""


def systems_table(evaluations: Sequence[Evaluation]) -> Table:
    """One row for each system: the paper's metrics, QA EM and the authors' edit distance if some system has them, n,
    and milliseconds per question."""
    released = any("ged_released" in evaluation.mean for evaluation in evaluations)
    answered = any("qa_em" in evaluation.mean for evaluation in evaluations)
    rows = []
    for evaluation in evaluations:
        mean = evaluation.mean
        seconds = mean.get("seconds_per_question")
        cells = [*_cells(mean, answered), *([f"{mean['ged_released']:.2f}"] if released else [])]
        time = NONE if seconds is None else f"{1000 * seconds:.1f}"
        rows.append([evaluation.name, *cells, str(int(mean["n"])), time])
    header = ["system", *_titles(answered), *(["GED-released"] if released else []), "n", "ms/question"]
    return Table.of(header, rows, notes=(UNITS, *notes(evaluations)))


def groups_table(evaluation: Evaluation, by: str) -> Table:
    """One row for each group of one system; `by` is a grouping, or ``hops / chains`` (paper, Table 6)."""
    if by == PAIRS:
        groups = {f"{hops} / {chains}": mean for (hops, chains), mean in hops_by_chains(evaluation).items()}
    else:
        groups = breakdown(evaluation, by)
    answered = "qa_em" in evaluation.mean
    rows = [[group, *_cells(mean, answered), str(int(mean["n"]))] for group, mean in groups.items()]
    return Table.of([by, *_titles(answered), "n"], rows)


def _titles(answered: bool) -> list[str]:
    return [*((PERCENT | DISTANCE)[metric] for metric in METRICS), *(["QA EM"] if answered else [])]


def _cells(mean: Mapping[str, float], answered: bool) -> list[str]:
    cells = [f"{100 * mean[m]:.2f}" if m in PERCENT else f"{mean[m]:.2f}" for m in METRICS]
    return [*cells, *([percent(mean.get("qa_em"), 2)] if answered else [])]


def notes(evaluations: Sequence[Evaluation]) -> list[str]:
    """Notes on edit distances that ran out of time, on decoding limits that were reached, and on texts that were longer
    than a model reads, if any."""
    lines = []
    for evaluation in evaluations:
        mean = evaluation.mean
        for metric, title in DISTANCE.items():
            if cut := int(mean[f"{metric}_not_exact"]):
                bounds = f"the mean lies in {mean[f'{metric}_lower']:.2f} to {mean[metric]:.2f}"
                lines.append(f"{evaluation.name}: {title} ran out of time on {cut} questions; {bounds}")
        if limits := int(mean["limits_reached"]):
            lines.append(f"{evaluation.name}: decoding met a limit on {limits} questions")
        if any(count.truncated for count in evaluation.truncation.values()):
            lines.append(f"{evaluation.name}: {truncation_text(evaluation.truncation)}")
        if inputs := evaluation.inputs_truncated:
            lines.append(f"{evaluation.name}: the reader's input was truncated on {inputs} questions")
    return lines


def as_text(evaluations: Sequence[Evaluation], main: str) -> str:
    """The report for a terminal."""
    chosen, systems = named(evaluations, main), systems_table(evaluations)
    parts = [systems.as_text(), *systems.notes]
    for by in ("type", "structure", "hops", "chains"):
        parts += ["", f"{main}, by {by}", groups_table(chosen, by).as_text()]
    refusals = refusal_table(evaluations)
    if refusals is not None:
        parts += ["", TITLE, refusals.as_text(), *refusals.notes]
    return "\n".join(parts)


def as_document(evaluations: Sequence[Evaluation], main: str, about: Mapping[str, Any]) -> Document:
    chosen = named(evaluations, main)
    titles = {by: f"by {by}" for by in GROUPINGS} | {PAIRS: "by hops and chains"}
    sections = [Section(title, f"{main}, {title}", (groups_table(chosen, by),)) for by, title in titles.items()]
    sections.append(refusal_section(evaluations))
    return Document("Evaluation", (Section("systems", "Systems", (systems_table(evaluations),)), *sections), about)


def refusal_section(evaluations: Sequence[Evaluation]) -> Section:
    """The section on questions without an answer; without parts if no system was run on any."""
    table = refusal_table(evaluations)
    return Section("refusal", TITLE, () if table is None else (table,))


def as_json(
    evaluations: Sequence[Evaluation], main: str, about: Mapping[str, Any], *, answers: Sequence[AnswerScores] = ()
) -> dict[str, Any]:
    """All means and breakdowns of all systems; scores are in 0 … 1."""
    systems = {
        evaluation.name: {
            "all": evaluation.mean,
            **{by: breakdown(evaluation, by) for by in GROUPINGS},
            "hops_by_chains": {f"{h},{c}": mean for (h, c), mean in hops_by_chains(evaluation).items()},
        }
        for evaluation in evaluations
    }
    read = {"answers": answers_json(answers)} if answers else {}
    return {"about": dict(about), "main": main, "systems": systems, **refusal_json(evaluations), **read}


def write_report(
    folder: Path,
    evaluations: Sequence[Evaluation],
    examples: Sequence[Example],
    main: str,
    about: Mapping[str, Any],
    *,
    answers: Sequence[AnswerScores] = (),
) -> None:
    """Write `write_metrics`' files, ``metrics.md``, ``groups.png`` and ``hops_by_chains.png`` into an existing folder,
    and with `answers` the files of `write_answers`. The results of the system `main` are broken down and plotted;
    `about` describes what was evaluated."""
    write_text(folder / "metrics.md", as_document(evaluations, main, about).as_markdown())
    write_metrics(folder, evaluations, examples, main, about, answers=answers)
    if answers:
        write_answers(folder, answers, examples)
    plot_groups(named(evaluations, main), folder / "groups.png")
    plot_hops_by_chains(named(evaluations, main), folder / "hops_by_chains.png")


def write_metrics(
    folder: Path,
    evaluations: Sequence[Evaluation],
    examples: Sequence[Example],
    main: str,
    about: Mapping[str, Any],
    *,
    answers: Sequence[AnswerScores] = (),
) -> None:
    """Write ``metrics.json``, ``metrics.csv`` (one line for each system and group) and ``predictions.jsonl`` (one line
    for each question: the example, and each system's graph, scores and answer), which `bgr compare` reads again; and
    ``refusal.csv``, if there are questions without an answer."""
    content = as_json(evaluations, main, about, answers=answers)
    write_json(folder / "metrics.json", content)
    lines = []
    for system, tables in content["systems"].items():
        for grouping, groups in {**tables, "all": {"": tables["all"]}}.items():
            lines += [{"system": system, "grouping": grouping, "group": g, **mean} for g, mean in groups.items()]
    write_csv(folder / "metrics.csv", lines)
    if "refusal" in content:
        write_csv(folder / "refusal.csv", refusal_lines(content))
    records = (
        {**example.to_json(), "predictions": {e.name: _prediction(e, place) for e in evaluations}}
        for place, example in enumerate(examples)
    )
    write_lines(folder / "predictions.jsonl", (json.dumps(record, ensure_ascii=False) for record in records))


def _prediction(evaluation: Evaluation, place: int) -> dict[str, Any]:
    row, graph = evaluation.rows[place], evaluation.results[place].graph
    scored = {edge: [round(score, 6)] for edge, score in graph.scores.items()}
    edges = [[*edge, *scored.get(edge, [])] for edge in sorted(graph.edges)]
    scores = {metric: getattr(row, metric) for metric in (*METRICS, "ged_exact", "ged_labelled_exact")}
    answer = {} if evaluation.answers is None else {"answer": evaluation.answers[place], "qa_em": row.qa_em}
    texts = evaluation.results[place].truncated
    truncated = {} if texts is None else {"truncated": list(texts)}
    chance = evaluation.results[place].completeness
    completeness = {} if chance is None else {"completeness": round(chance, 6)}
    return {"edges": edges, **scores, **answer, "limits": list(row.limits), **truncated, **completeness}


KIND_TEXTS = tuple(f"{kind.replace('_', ' ')}: {text}" for kind, text in ERROR_KINDS.items())
KINDS_NOTE = "Each failure counts under the first kind that holds:"


def errors_table(counts: Sequence[ErrorCounts]) -> Table:
    """One row for each system: the number of questions that failed, and the number of each kind, which links to its
    questions on a page."""
    header = ["system", "n", "failed", *(kind.replace("_", " ") for kind in ERROR_KINDS)]
    rows = []
    links: dict[tuple[int, int], tuple[int, int]] = {}
    for row, one in enumerate(counts):
        rows.append([one.system, *map(str, (one.n, one.failures, *map(len, one.ids.values())))])
        links |= {(row, 3 + kind): (row, kind) for kind, ids in enumerate(one.ids.values()) if ids}
    return Table.of(header, rows, links=links)


def errors_text(counts: Sequence[ErrorCounts]) -> str:
    """The counts for a terminal, with the meaning of each kind."""
    return "\n".join([errors_table(counts).as_text(), KINDS_NOTE, *KIND_TEXTS])


def errors_document(counts: Sequence[ErrorCounts], examples: Sequence[Example]) -> Document:
    """The counts, and a few questions of each kind and system."""
    questions = {example.id: " ".join(example.question.split()) for example in examples}
    sections = [Section("errors", "Counts", (errors_table(counts), KINDS_NOTE, listing(KIND_TEXTS)))]
    for one in counts:
        parts: list[Part] = []
        for kind, ids in one.ids.items():
            if ids:
                parts.append(f"{kind.replace('_', ' ')} ({len(ids)})")
                parts.append(listing([f"`{name}` {questions[name]}" for name in ids[:EXAMPLES]]))
        sections.append(Section(one.system, one.system, tuple(parts)))
    return Document("Errors", tuple(sections))


def write_errors(folder: Path, counts: Sequence[ErrorCounts], examples: Sequence[Example]) -> None:
    """Write ``errors.json`` (for each system ``n``, ``failures``, and the ``count`` and ``ids`` of each kind) and
    ``errors.md`` into an existing folder."""
    content = {}
    for one in counts:
        kinds = {kind: {"count": len(ids), "ids": list(ids)} for kind, ids in one.ids.items()}
        content[one.system] = {"n": one.n, "failures": one.failures, "kinds": kinds}
    write_json(folder / "errors.json", content)
    write_text(folder / "errors.md", errors_document(counts, examples).as_markdown())


def sweep_table(result: Sweep, about: Mapping[str, Any]) -> Table:
    """One row for each rule: its best γ with its scores, and the checkpoint's γ; `about` names that and the split."""
    chosen, split = about["checkpoint_gammas"], about["split"]
    rows = []
    for rule in result.points:
        gamma, point = result.best(rule)
        gammas = [NONE, NONE] if rule in SINGLE else [f"{gamma:.2f}", f"{chosen[rule]:.2f}" if rule in chosen else NONE]
        cells = [f"{100 * point[metric]:.2f}" for metric in ("gm", "gs", "f1")]
        rows.append([rule, *gammas, *cells, f"{point['ged']:.2f}", str(result.n)])
    lines = [SWEEP_UNITS]
    if result.ged_not_exact:
        lines.append(f"GED ran out of time on {result.ged_not_exact} graphs, which count with the best edit found.")
    if split != "dev":
        lines.append(f"This is the split {split!r}: choose γ on dev; these values are for inspection only.")
    return Table.of(["rule", "best γ", "checkpoint's γ", "GM", "GS", "F1", "GED", "n"], rows, notes=tuple(lines))


def sweep_text(result: Sweep, about: Mapping[str, Any]) -> str:
    """The sweep for a terminal."""
    table = sweep_table(result, about)
    return "\n".join([table.as_text(), *table.notes])


def write_sweep(folder: Path, result: Sweep, about: Mapping[str, Any]) -> None:
    """Write ``sweep.json``, ``sweep.csv``, ``sweep.md`` and ``sweep.png`` into an existing folder."""
    write_json(folder / "sweep.json", result.to_json(about))
    best = {rule: result.best(rule)[0] for rule in result.points}
    plot_sweep(result.gammas, result.points, best, f"{about['split']}, n = {result.n}", folder / "sweep.png")
    sections = [Section("best", "Best γ", (sweep_table(result, about), Figure("sweep", folder / "sweep.png")))]
    for metric, title, scale in (("gm", "GM", 100), ("gs", "GS", 100), ("f1", "F1", 100), ("ged", "GED", 1)):
        rows = [
            [f"{gamma:.2f}", *(f"{scale * result.points[rule][place][metric]:.2f}" for rule in result.points)]
            for place, gamma in enumerate(result.gammas)
        ]
        sections.append(Section(metric, title, (Table.of(["γ", *result.points], rows),)))
    write_text(folder / "sweep.md", Document("Sweep over γ", tuple(sections), about).as_markdown())
    lines = [
        {"rule": rule, "gamma": gamma, **point, "n": result.n}
        for rule, points in result.points.items()
        for gamma, point in zip(result.gammas, points, strict=True)
    ]
    write_csv(folder / "sweep.csv", lines)
