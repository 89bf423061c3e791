"""The comparison's tables, each as header and rows of text."""

from __future__ import annotations

import math
from collections.abc import Mapping

from eval.compare.tables import NONE, p_text, with_interval
from eval.passages.compare import PassageComparison
from eval.passages.cuts import ALL, cuts
from eval.passages.groups import by_group, by_round, by_step, tokens_of, usage_of
from eval.passages.score import RECALLS, SystemScores
from eval.report.report import Table

NOTE = (
    "All metrics in percent but GED, which is in edits; in brackets the 95 % bootstrap interval over questions. P, R, "
    "F1 and the graph metrics are those of the graph that a system gives; of a list, its first passages count, as many "
    "as there are gold ones, each from the question. Calls, tokens, cost and seconds are for one question; cached "
    "calls were answered from the replay cache, and their tokens, cost and seconds count; failed are steps of all "
    "questions whose reply could not be used."
)
UNCOUNTED = "Tokens and cost are not known (–) where the server gave no count of tokens. Replies without one:"
CUT = (
    "Questions of which something was left out or cut short (context: candidates had no room in the prompt; clipped: "
    "long ones were cut; shots: examples had no room; facts: of an answer's evidence; others are limits of a search):"
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


def systems_table(comparison: PassageComparison, *, intervals: bool = True) -> Table:
    """Header and one row for each system; usage only where some system called a language model."""
    asked = any(one.usage.calls or one.usage.cached or one.usage.failed for one in comparison.systems)
    header = ["system", *comparison.metrics, "n"]
    header += [*(("calls", "cached", "tokens in", "tokens out", "failed") if asked else ())]
    header += [*(("cost",) if comparison.price is not None else ()), "s/question"]
    rows = []
    for one in comparison.systems:
        found = comparison.intervals[one.name]
        cells = [NONE] * len(comparison.metrics)
        for column, metric in enumerate(comparison.metrics):
            if metric in found:
                cell = with_interval(found[metric], metric)
                cells[column] = cell if intervals else cell.split(" ")[0]
        rows.append([one.name, *cells, str(len(one.found)), *(_usage(one) if asked else ())])
        if comparison.price is not None:
            rows[-1].append(written(usage_of(one, comparison.price)["cost"], ".6f"))
        rows[-1].append(f"{one.seconds:.4f}")
    return header, rows


def bounds_line(comparison: PassageComparison) -> str:
    """How many distances of which systems are upper bounds; empty where all are exact."""
    cut = [f"{one.ged_not_exact:,} of {one.name}" for one in comparison.systems if one.ged_not_exact]
    return f"Distances (GED) that ran out of time and are upper bounds: {', '.join(cut)}." if cut else ""


def _usage(system: SystemScores) -> list[str]:
    usage = usage_of(system)
    calls = [f"{usage[name]:.1f}" for name in ("calls", "cached")]
    tokens = [written(usage[name]) for name in ("tokens_in", "tokens_out")]
    return [*calls, *tokens, str(system.usage.failed)]


def notes(comparison: PassageComparison) -> list[str]:
    """What stands under the table of systems, each a paragraph."""
    used = {one.name: one.usage for one in comparison.systems}
    without = [f"{name} {one.uncounted} of {one.calls + one.cached}" for name, one in used.items() if one.uncounted]
    found = {one.name: cuts(one) for one in comparison.systems}
    left_out = [f"{name} {_by_limit(one)}" for name, one in found.items() if one[ALL]]
    lines = [f"{what} {', '.join(names)}." for what, names in ((UNCOUNTED, without), (CUT, left_out)) if names]
    return [NOTE, *filter(None, [bounds_line(comparison)]), *lines]


def _by_limit(found: Mapping[str, int]) -> str:
    return f"{found[ALL]} ({', '.join(f'{name} {count}' for name, count in found.items() if name != ALL)})"


def pairs_table(comparison: PassageComparison, metric: str) -> Table:
    """Header and one row for each two systems by one metric."""
    header = ["first", "second", f"Δ{metric}", "p (bootstrap)", "better", "worse", "equal", "p (signs)"]
    rows = [
        [
            pair.first,
            pair.second,
            with_interval(pair.difference.interval, metric, sign=True),
            p_text(pair.difference.p),
            *(str(count) for count in (pair.signs.better, pair.signs.worse, pair.signs.equal)),
            p_text(pair.signs.p),
        ]
        for pair in comparison.pairs
        if pair.metric == metric
    ]
    return header, rows


def groups_table(comparison: PassageComparison, by: str, metric: str) -> Table:
    """Header and one row for each system: one metric by hops or kind; the last row has the numbers of questions."""
    found = {one.name: by_group(one, comparison.data, by) for one in comparison.systems}
    groups = next(iter(found.values()))
    rows = [[name, *(percent(means[group].get(metric)) for group in groups)] for name, means in found.items()]
    return ["system", *groups], [*rows, ["n", *(f"{means['n']:.0f}" for means in groups.values())]]


def rounds_table(comparison: PassageComparison) -> Table:
    """Header and one row for each system and round; no rows where no system goes in rounds."""
    rows = [
        [
            one.name,
            *(f"{row[name]:.0f}" for name in ("round", "n")),
            *(percent(row[metric]) for metric in RECALLS),
            f"{row['calls']:.1f}",
            written(row["tokens"]),
        ]
        for one in comparison.systems
        for row in by_round(one, comparison.data, within=comparison.within)
    ]
    return ["system", "round", "n", *RECALLS, "calls", "tokens"], rows


def steps_table(comparison: PassageComparison) -> Table:
    """Header and one row for each system and step that asks a model, over all questions."""
    rows = [
        [one.name, step, *(written({**vars(usage), **tokens_of(usage)}[name], ",.0f") for name in STEP_COUNTS)]
        for one in comparison.systems
        for step, usage in by_step(one).items()
    ]
    return ["system", "step", *(name.replace("_", " ") for name in STEP_COUNTS)], rows


def percent(value: float | None) -> str:
    """One digit; a dash where there is no value."""
    return NONE if value is None or math.isnan(value) else f"{100 * value:.1f}"


def written(value: float, form: str = ".0f") -> str:
    """As `form` says; a dash where there is no value."""
    return NONE if math.isnan(value) else f"{value:{form}}"
