"""Report of systems on passages: tables, plots, differences, groups, rounds and steps, as files and as one page with
the steps of every system for any question."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd

from bgr.utils.atomic_io import new_file, without_nan, write_json, write_text
from eval.compare.passages import Pair, PassageComparison, corpus_line
from eval.report.document import (
    NONE,
    Choice,
    Document,
    Figure,
    Section,
    Table,
    fewer_questions,
    interval_text,
    number_text,
    p_text,
    percent,
    table_of_groups,
    write_csv,
)
from eval.report.page import Explorer, render
from eval.report.plots import plot_pareto, plot_recall
from eval.report.traces import page_data
from eval.run.passage_scores import (
    ALL,
    KEY,
    RECALLS,
    SystemScores,
    by_group,
    by_round,
    by_step,
    cuts,
    groupings,
    tokens_of,
    usage_of,
)

MARKDOWN, PAGE = "passages.md", "traces.html"
NOTE = (
    "All metrics in percent but GED, which is in edits; in brackets the 95 % bootstrap interval over questions. P, R, "
    "F1 and the graph metrics are those of the graph that a system gives; of a list, its first passages count, as many "
    "as there are gold ones, each from the question. Calls, tokens, cost and seconds are for one question; cached "
    "calls were answered from the replay cache, and their tokens, cost and seconds count; failed are steps of all "
    "questions whose reply could not be used."
)
BOUNDS = "Distances (GED) that ran out of time and are upper bounds:"
UNCOUNTED = "Tokens and cost are not known (–) where the server gave no count of tokens. Replies without one:"
CALLS = (
    "Calls of all questions that were tried again (retried) or not answered after all tries (unanswered), replies that "
    "ended at their limit of tokens (cut), and prompts that were truncated to the context (clipped):"
)
CALL_COUNTS = ("retried", "unanswered", "cut", "clipped")
CUT = (
    "Questions of which something was left out or cut short (context: candidates had no room in the prompt; clipped: "
    "long ones were cut; shots: examples had no room; facts: of an answer's evidence; tokens: a model read only the "
    "first tokens of a text; others are limits of a search):"
)
STEP_COUNTS = ("calls", "cached", "tokens_in", "tokens_out", "failed")
PAIRS_NOTE = (
    "First minus second with its 95 % interval and the p of the paired bootstrap; the questions on which the first is "
    "better, worse and equal, and the p of the exact two-sided sign test. No correction for the number of pairs."
)
ROUNDS_NOTE = (
    "R@k of the lists of all rounds so far, fused by reciprocal rank (PRISM's, which are sets, one after the other); "
    "what the method adds at its end is not in it. A question that stopped earlier keeps what it had. n: questions "
    "that went through the round. Calls and tokens (read and written) of a question so far, with those before round 1."
)
GROUPS_NOTE = "In percent; the last row has the number of questions."


def systems_table(comparison: PassageComparison) -> Table:
    """One row for each system; usage only where some system called a language model."""
    called = any(one.usage.calls or one.usage.cached or one.usage.failed for one in comparison.systems)
    rows = []
    for one in comparison.systems:
        found, usage = comparison.intervals[one.name], usage_of(one, comparison.price)
        row = {"system": one.name}
        row |= {m: interval_text(found[m], m) if m in found else NONE for m in comparison.metrics}
        row["n"] = str(len(one.found))
        if called:
            row |= {name: f"{usage[name]:.1f}" for name in ("calls", "cached")}
            row |= {f"tokens {way}": number_text(usage[f"tokens_{way}"]) for way in ("in", "out")}
            row["failed"] = str(one.usage.failed)
        if comparison.price is not None:
            row["cost"] = number_text(usage["cost"], ".6f")
        rows.append(row | {"s/question": f"{one.seconds:.4f}"})
    return Table(pd.DataFrame(rows, dtype=object), notes=tuple(notes(comparison)))


def notes(comparison: PassageComparison) -> list[str]:
    """The paragraphs below the table of systems."""
    bounds, uncounted, calls, limited = [], [], [], []
    for one in comparison.systems:
        usage, reached = one.usage, cuts(one)
        if one.ged_not_exact:
            bounds.append(f"{one.ged_not_exact:,} of {one.name}")
        if usage.uncounted:
            uncounted.append(f"{one.name} {usage.uncounted} of {usage.calls + usage.cached}")
        if told := [f"{count:,} {name}" for name in CALL_COUNTS if (count := getattr(usage, name))]:
            calls.append(f"{one.name} ({', '.join(told)})")
        if total := reached.pop(ALL):
            limited.append(f"{one.name} {total} ({', '.join(f'{name} {n}' for name, n in reached.items())})")
    lines = ((BOUNDS, bounds), (UNCOUNTED, uncounted), (CALLS, calls), (CUT, limited))
    fewer = fewer_questions(comparison.intervals, len(comparison.data.questions))
    return [NOTE, *fewer, *(f"{text} {', '.join(names)}." for text, names in lines if names)]


def pairs_table(comparison: PassageComparison, metric: str) -> Table:
    """One row for each pair of systems, by one metric."""
    header = ["first", "second", f"Δ{metric}", "p (bootstrap)", "better", "worse", "equal", "p (signs)"]
    rows = [
        [
            pair.first,
            pair.second,
            interval_text(pair.difference.interval, metric, sign=True),
            p_text(pair.difference.p),
            *(str(count) for count in (pair.signs.better, pair.signs.worse, pair.signs.equal)),
            p_text(pair.signs.p),
        ]
        for pair in comparison.pairs
        if pair.metric == metric
    ]
    return Table.of(header, rows)


def groups_table(comparison: PassageComparison, by: str, metric: str) -> Table:
    """One metric by hops or kind."""
    found = {one.name: by_group(one, comparison.data, by) for one in comparison.systems}
    return table_of_groups(found, lambda mean: percent(mean.get(metric)))


def rounds_table(comparison: PassageComparison) -> Table:
    """One row for each system and round; no rows if no system works in rounds."""
    rows = [
        [
            one.name,
            *(f"{row[name]:.0f}" for name in ("round", "n")),
            *(percent(row[metric]) for metric in RECALLS),
            f"{row['calls']:.1f}",
            number_text(row["tokens"]),
        ]
        for one in comparison.systems
        for row in by_round(one, comparison.data, within=comparison.within)
    ]
    return Table.of(["system", "round", "n", *RECALLS, "calls", "tokens"], rows, notes=(ROUNDS_NOTE,))


def steps_table(comparison: PassageComparison) -> Table:
    """One row for each system and step that calls a model, over all questions."""
    rows = [
        [one.name, step, *(number_text({**vars(usage), **tokens_of(usage)}[name], ",.0f") for name in STEP_COUNTS)]
        for one in comparison.systems
        for step, usage in by_step(one).items()
    ]
    return Table.of(["system", "step", *(name.replace("_", " ") for name in STEP_COUNTS)], rows)


def as_document(comparison: PassageComparison, figures: Mapping[str, Path] | None = None) -> Document:
    """The whole report; `figures` are PNG files by title."""
    key = [metric for metric in KEY if metric in comparison.metrics]
    pairs = {metric: [table] for metric in key if (table := pairs_table(comparison, metric)).rows}
    systems = systems_table(comparison)
    columns = ["system", *comparison.metrics, "n"]
    scores = Table(systems.frame[columns])
    costs = replace(systems, frame=systems.frame.drop(columns=columns[1:]))
    sections = [
        Section("systems", "Systems", (scores, "For one question:", costs)),
        Section("costs", "Quality and cost", tuple(Figure(title, path) for title, path in (figures or {}).items())),
        Section("differences", "Differences", (PAIRS_NOTE, _choice("pairs", pairs)) if pairs else ()),
    ]
    for by in groupings(comparison.data):
        if len({getattr(question, by) for question in comparison.data.questions}) > 1:
            groups = {metric: [groups_table(comparison, by, metric)] for metric in key}
            sections.append(Section(by, f"By {by}", (_choice(by, groups), GROUPS_NOTE)))
    rounds, steps = rounds_table(comparison), steps_table(comparison)
    sections.append(Section("rounds", "By round", (rounds,) if rounds.rows else ()))
    sections.append(Section("steps", "By step, all questions", (steps,) if steps.rows else ()))
    return Document("Comparison of retrieval", tuple(sections), comparison.about, corpus_line(comparison.about))


def _choice(key: str, tables: Mapping[str, list[Table]]) -> Choice:
    return Choice(key, "Metric", tables, next(iter(tables)))


def write_passages(folder: Path, comparison: PassageComparison) -> None:
    """Write ``passages.md``, ``passages.json``, ``systems.csv``, ``pairs.csv``, ``groups.csv``, ``rounds.csv``,
    ``recall.png`` (if recall was scored), ``pareto.png`` and ``traces.html``.

    Raises:
        DataError: the folder cannot be written.
    """
    of = {name: comparison.about[name] for name in ("data", "data_hash", "passages", "corpus_hash")}
    found = as_json(comparison)
    systems = [
        {
            "system": name,
            **_flat(one),
            **{count: one["usage"][count] for count in ("failed", "uncounted", *CALL_COUNTS)},
        }
        for name, one in found["systems"].items()
    ]
    groups = [
        {"system": name, "by": by, "group": group, **means}
        for name, one in found["systems"].items()
        for by in one["by"]
        for group, means in one["by"][by].items()
    ]
    rounds = [{"system": name, **row} for name, one in found["systems"].items() for row in one["rounds"]]
    write_json(folder / "passages.json", found)
    for name, rows in (("systems", systems), ("pairs", found["pairs"]), ("groups", groups), ("rounds", rounds)):
        write_csv(folder / f"{name}.csv", [{**_flat(row), **of} for row in rows])
    plots = [("Quality against tokens and seconds", "pareto.png", plot_pareto)]
    if set(RECALLS) & set(comparison.metrics):
        plots.append(("Recall by system", "recall.png", plot_recall))
    for _, name, plot in plots:
        with new_file(folder / name) as path:
            plot(comparison, path)
    figures = {title: folder / name for title, name, _ in plots}
    document = as_document(comparison, figures)
    write_text(folder / MARKDOWN, document.as_markdown())
    write_text(folder / PAGE, render(document, Explorer("traces", page_data(comparison))))


def as_json(comparison: PassageComparison) -> dict[str, Any]:
    """All numbers with all their digits; a missing value is ``null``."""
    whole = {
        "about": dict(comparison.about),
        "systems": {one.name: _system_json(one, comparison) for one in comparison.systems},
        "pairs": [_pair_json(pair) for pair in comparison.pairs],
    }
    return without_nan(whole)


def _system_json(one: SystemScores, comparison: PassageComparison) -> dict[str, Any]:
    return {
        **{metric: vars(found) for metric, found in comparison.intervals[one.name].items()},
        "n": len(one.found),
        "per_question": usage_of(one, comparison.price),
        "usage": one.usage.to_json(),
        "ged_not_exact": one.ged_not_exact,
        "cut": cuts(one),
        "by": {by: by_group(one, comparison.data, by) for by in groupings(comparison.data)},
        "rounds": by_round(one, comparison.data, within=comparison.within),
        "steps": {step: usage.to_json() for step, usage in by_step(one).items()},
    }


def _pair_json(pair: Pair) -> dict[str, Any]:
    return {
        "first": pair.first,
        "second": pair.second,
        "metric": pair.metric,
        "difference": vars(pair.difference.interval),
        "p_bootstrap": pair.difference.p,
        "better": pair.signs.better,
        "worse": pair.signs.worse,
        "equal": pair.signs.equal,
        "p_signs": pair.signs.p,
    }


def _flat(row: Mapping[str, Any]) -> dict[str, Any]:
    """Objects of numbers become columns; ``mean`` has the name of its metric."""
    line: dict[str, Any] = {}
    for name, value in row.items():
        if name in ("by", "rounds", "steps", "usage"):
            continue
        if isinstance(value, Mapping):
            line |= {name if part == "mean" else f"{name}_{part}": number for part, number in value.items()}
        else:
            line[name] = value
    return line
