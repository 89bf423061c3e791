"""Report of `bgr compare` on evidence graphs: the paper's Table 4 with intervals, differences, Figures 5 and 6, Table 6
and the errors, as files and as one page with an explorer of single questions."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from bgr.data.example import QUESTION_TYPES, STRUCTURES, Example
from bgr.utils.atomic_io import write_text
from eval.compare.compare import GOLD, PAIRED, TITLES, Comparison
from eval.report.document import (
    NONE,
    Choice,
    Document,
    Figure,
    RowChoice,
    Section,
    Table,
    fewer_questions,
    interval_text,
    listing,
    number_text,
    p_text,
    percent,
    table_of_groups,
    write_csv,
)
from eval.report.evaluation import (
    KIND_TEXTS,
    KINDS_NOTE,
    errors_table,
    notes,
    refusal_section,
    write_errors,
    write_metrics,
)
from eval.report.page import Explorer, render
from eval.report.plots import GROUPED, plot_figure6, plot_sweep
from eval.run.breakdown import ERROR_KINDS, breakdown, hops_by_chains, kinds_of
from eval.run.evaluate import Evaluation

NOTE = (
    "GM, GS, F1, P, R, EM and QA EM in percent, GED in edits; in brackets the 95 % bootstrap interval over questions. "
    "Time is that of retrieval alone, parameters are those of the retriever."
)
PAIRS_NOTE = "First minus second with its 95 % interval; p by McNemar's exact test (GM, QA EM), paired bootstrap (F1)."
GROUPS_NOTE = "Percent of the questions of each group; the last row has their number."


def table4(comparison: Comparison) -> Table:
    """One row for each system (paper, Table 4), with intervals, n, seconds per question and parameters; the best value
    of each column is marked, without the gold graph."""
    header = ["system", *(TITLES[m] for m in comparison.metrics), "n", "s/question", "parameters"]
    rows = []
    for one in comparison.evaluations:
        found = comparison.intervals[one.name]
        cells = [interval_text(found[m], m) if m in found else NONE for m in comparison.metrics]
        seconds = one.mean.get("seconds_per_question", math.nan)
        rows.append([one.name, *cells, str(len(one.rows)), number_text(seconds, ".4f"), _count_text(one.parameters)])
    names = [one.name for one in comparison.evaluations]
    marked = set()
    for column, metric in enumerate(comparison.metrics, 1):
        means = {name: found[metric].mean for name, found in comparison.intervals.items() if metric in found}
        compared = [mean for name, mean in means.items() if name != GOLD]
        if compared:
            best = min(compared) if metric == "ged" else max(compared)
            marked |= {(names.index(name), column) for name, mean in means.items() if mean == best}
    return Table.of(
        header,
        rows,
        notes=(NOTE, *fewer_questions(comparison.intervals, len(comparison.examples)), *notes(comparison.evaluations)),
        main=names.index(comparison.main),
        best=frozenset(marked),
    )


def _count_text(count: int | None) -> str:
    if count is None:
        return NONE
    return f"{count / 1e6:.1f} M" if count >= 100_000 else str(count)


def pairs_table(comparison: Comparison) -> Table:
    """One row for each pair of systems: first minus second and its p-value, by GM, F1 and QA EM. A page shows the pairs
    of one system."""
    metrics = [m for m in PAIRED if m in comparison.metrics]
    header = ["first", "second", *(cell for m in metrics for cell in (f"Δ{TITLES[m]}", "p"))]
    rows = []
    for pair in comparison.pairs:
        rows.append([pair.first, pair.second])
        for metric in metrics:
            found = pair.differences.get(metric)
            text = NONE if found is None else interval_text(found.interval, metric, sign=True)
            rows[-1] += [text, NONE if found is None else p_text(found.p)]
    names = [one.name for one in comparison.evaluations]
    shown = [(names.index(pair.first), names.index(pair.second)) for pair in comparison.pairs]
    choice = RowChoice("Pairs with", names, names.index(comparison.main), shown)
    return Table.of(header, rows, notes=(PAIRS_NOTE,), choice=choice)


def groups_table(comparison: Comparison, metric: str, by: str) -> Table:
    """One metric by type or structure (paper, Figure 6), in percent."""
    found = {one.name: breakdown(one, by) for one in comparison.evaluations}
    return table_of_groups(found, lambda mean: mean_text(mean, metric))


def table6(evaluation: Evaluation) -> Table:
    """One row for each pair of hops and chains of one system (paper, Table 6)."""
    metrics = [m for m in TITLES if m in evaluation.mean]
    rows = [
        [str(hops), str(chains), str(int(mean["n"])), *(mean_text(mean, m) for m in metrics)]
        for (hops, chains), mean in hops_by_chains(evaluation).items()
    ]
    return Table.of(["hops", "chains", "n", *(TITLES[m] for m in metrics)], rows)


def mean_text(mean: Mapping[str, float], metric: str) -> str:
    """One mean: percent with one digit, edits with two; a dash if it is missing."""
    value = mean.get(metric, math.nan)
    return number_text(value, ".2f") if metric == "ged" else percent(value)


def as_document(comparison: Comparison, figures: Mapping[str, Path]) -> Document:
    """The whole report; `figures` are PNG files by title, ``Figure 5`` and ``Figure 6``, either of which may be
    missing."""
    drawn = {title: (Figure(title, path),) for title, path in figures.items()}
    by_metric: dict[str, Sequence[Table]] = {
        TITLES[metric]: [groups_table(comparison, metric, by) for by in ("type", "structure")]
        for metric in GROUPED
        if metric in comparison.metrics
    }
    groups = Choice("groups", "Metric", by_metric, next(iter(by_metric)))
    hops = {one.name: [table6(one)] for one in comparison.evaluations}
    return Document(
        "Comparison of evidence-graph retrieval",
        (
            Section("systems", "Systems (Table 4)", (table4(comparison),)),
            Section("differences", "Differences", (pairs_table(comparison),) if comparison.pairs else ()),
            Section("gamma", "Reconstruction and γ (Figure 5)", drawn.get("Figure 5", ())),
            Section("groups", "Types and structures (Figure 6)", (*drawn.get("Figure 6", ()), groups, GROUPS_NOTE)),
            Section("hops", "Hops and chains (Table 6)", (Choice("hops", "System", hops, comparison.main),)),
            refusal_section(comparison.evaluations),
            Section("errors", "Errors", (errors_table(comparison.errors), KINDS_NOTE, listing(KIND_TEXTS))),
        ),
        comparison.about,
    )


def write_comparison(folder: Path, comparison: Comparison, sweep: Mapping[str, Any] | None = None) -> None:
    """Write ``report.html``, ``compare.md``, ``compare.tex``, ``table4.csv``, ``pairs.csv``, ``figure6.png``, with a
    sweep (`read_sweep`) ``figure5.png``, and the files of `write_errors` and `write_metrics`, which `bgr compare` reads
    again."""
    figures = {"Figure 6": folder / "figure6.png"}
    plot_figure6(comparison, figures["Figure 6"])
    if sweep is not None:
        best = {rule: one["gamma"] for rule, one in sweep["best"].items()}
        title = f"{sweep['about'].get('split', '')} n = {sweep.get('n')}".strip()
        figures["Figure 5"] = folder / "figure5.png"
        plot_sweep(sweep["gammas"], sweep["rules"], best, title, figures["Figure 5"])
    document = as_document(comparison, figures)
    write_text(folder / "compare.md", document.as_markdown())
    write_text(folder / "compare.tex", table4(comparison).as_latex())
    write_metrics(folder, comparison.evaluations, comparison.examples, comparison.main, comparison.about)
    write_errors(folder, comparison.errors, comparison.examples)
    write_csv(folder / "table4.csv", _table4_lines(comparison))
    write_csv(folder / "pairs.csv", _pair_lines(comparison))
    write_text(folder / "report.html", render(document, Explorer("graphs", page_data(comparison))))


def _table4_lines(comparison: Comparison) -> list[dict[str, Any]]:
    lines = []
    for one in comparison.evaluations:
        line: dict[str, Any] = {"system": one.name, "n": len(one.rows)}
        for metric, found in comparison.intervals[one.name].items():
            line |= found.columns(metric)
        extra = [name for name in ("seconds_per_question", "parameters") if name in one.mean]
        lines.append(line | {name: one.mean[name] for name in extra})
    return lines


def _pair_lines(comparison: Comparison) -> list[dict[str, Any]]:
    lines = []
    for pair in comparison.pairs:
        line: dict[str, Any] = {"first": pair.first, "second": pair.second}
        for metric, found in pair.differences.items():
            line |= found.interval.columns(metric) | {f"{metric}_p": found.p}
        lines.append(line)
    return lines


def page_data(comparison: Comparison) -> dict[str, Any]:
    """The names, facts and questions of the explorer, each fact once; types, structures and kinds of error are numbers
    into their lists (``assets/explorer.js`` reads it)."""
    numbers: dict[str, int] = {}
    names = [one.name for one in comparison.evaluations]
    kinds = [kinds_of(one, comparison.examples) for one in comparison.evaluations]
    questions = []
    for place, example in enumerate(comparison.examples):
        systems = zip(comparison.evaluations, kinds, strict=True)
        outcomes = [_outcome(one, place, of_one[place]) for one, of_one in systems]
        questions.append([*_question(example, numbers), outcomes])
    return {
        "systems": names,
        "main": names.index(comparison.main),
        "types": list(QUESTION_TYPES),
        "structures": list(STRUCTURES),
        "kinds": list(ERROR_KINDS),
        "kind_texts": list(ERROR_KINDS.values()),
        "facts": list(numbers),
        "questions": questions,
    }


def _question(example: Example, numbers: dict[str, int]) -> list[Any]:
    graph = example.graph
    return [
        example.id,
        example.question,
        QUESTION_TYPES.index(example.type),
        STRUCTURES.index(example.structure),
        graph.hops,
        graph.chains,
        example.answer,
        [numbers.setdefault(fact, len(numbers)) for fact in example.facts],
        [node for edge in sorted(graph.edges) for node in edge],
    ]


def _outcome(evaluation: Evaluation, place: int, kind: str | None) -> list[Any]:
    """The graph as ``a, b, score, a, b, score, …`` (``None`` for a score that is not finite), and the scores."""
    row, graph = evaluation.rows[place], evaluation.results[place].graph
    flat: list[float | None] = []
    for a, b in sorted(graph.edges):
        score = graph.scores.get((a, b), math.nan)
        flat += [a, b, round(score, 3) if math.isfinite(score) else None]
    answer = None if evaluation.answers is None else evaluation.answers[place]
    number = -1 if kind is None else list(ERROR_KINDS).index(kind)
    return [flat, round(100 * row.f1), row.ged_labelled, number, answer, row.qa_em]
