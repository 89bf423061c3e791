"""The comparison's tables, each as header and rows of text: the paper's Table 4, the differences, the breakdowns."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from bgr.data.example import QUESTION_TYPES, STRUCTURES
from eval.compare.compare import PAIRED, TITLES, Comparison
from eval.report.report import Table
from eval.run.breakdown import breakdown, hops_by_chains
from eval.run.evaluate import Evaluation
from eval.run.significance import Interval

NONE = "–"
NOTE = (
    "GM, GS, F1, P, R, EM and QA EM in percent, GED in edits; in brackets the 95 % bootstrap interval over questions. "
    "Time is that of retrieval alone, parameters are those of the retriever."
)
PAIRS_NOTE = "First minus second with its 95 % interval; p by McNemar's exact test (GM, QA EM), paired bootstrap (F1)."
GROUPED = ("gm", "f1", "qa_em")
"""What Figure 6 shows; the paper's has GM, F1 and QA EM."""

Written = Callable[[Interval, str], str]


def table4(comparison: Comparison, written: Written | None = None) -> Table:
    """Header and one row for each system (paper, Table 4), with intervals, n, seconds a question and parameters.

    Args:
        comparison: the systems.
        written: how a mean and its interval are written; `with_interval` by default.
    """
    write = written or with_interval
    header = ["system", *(TITLES[m] for m in comparison.metrics), "n", "s/question", "parameters"]
    rows = []
    for one in comparison.evaluations:
        found = comparison.intervals[one.name]
        cells = [write(found[m], m) if m in found else NONE for m in comparison.metrics]
        rows.append([one.name, *cells, str(len(one.rows)), seconds_text(one), parameters_text(one)])
    return header, rows


def pairs_table(comparison: Comparison) -> Table:
    """Header and one row for each two systems: first minus second and its p-value, by GM, F1 and QA EM."""
    metrics = [m for m in PAIRED if m in comparison.metrics]
    header = ["first", "second", *(cell for m in metrics for cell in (f"Δ{TITLES[m]}", "p"))]
    rows = []
    for pair in comparison.pairs:
        cells: list[str] = []
        for metric in metrics:
            found = pair.differences.get(metric)
            cells += (
                [NONE, NONE] if found is None else [with_interval(found.interval, metric, sign=True), p_text(found.p)]
            )
        rows.append([pair.first, pair.second, *cells])
    return header, rows


def groups_table(comparison: Comparison, metric: str, by: str) -> Table:
    """Header and one row for each system: one metric by type or structure (paper, Figure 6), in percent; the last row
    has the number of questions of each group."""
    known = QUESTION_TYPES if by == "type" else STRUCTURES
    there = {getattr(row, by) for row in comparison.evaluations[0].rows}
    groups = [group for group in known if group in there]
    rows = []
    for one in comparison.evaluations:
        means = breakdown(one, by)
        rows.append([one.name, *(number(means[group], metric) for group in groups)])
    counts = breakdown(comparison.evaluations[0], by)
    rows.append(["n", *(str(int(counts[group]["n"])) for group in groups)])
    return ["system", *groups], rows


def table6(evaluation: Evaluation) -> Table:
    """Header and one row for each pair of hops and chains of one system (paper, Table 6)."""
    metrics = [m for m in TITLES if m in evaluation.mean]
    rows = [
        [str(hops), str(chains), str(int(mean["n"])), *(number(mean, m) for m in metrics)]
        for (hops, chains), mean in hops_by_chains(evaluation).items()
    ]
    return ["hops", "chains", "n", *(TITLES[m] for m in metrics)], rows


def number(mean: Mapping[str, float], metric: str) -> str:
    """One mean: percent with one digit, edits with two; a dash where there is none."""
    if metric not in mean:
        return NONE
    return f"{mean[metric]:.2f}" if metric == "ged" else f"{100 * mean[metric]:.1f}"


def with_interval(found: Interval, metric: str, *, sign: bool = False) -> str:
    """``90.1 [88.8, 91.4]``."""
    scale, digits = (1, 2) if metric.lower() == "ged" else (100, 1)
    first, low, high = (scale * value for value in (found.mean, found.low, found.high))
    form = f"{'+' if sign else ''}.{digits}f"
    return f"{first:{form}} [{low:{form}}, {high:{form}}]"


def p_text(p: float) -> str:
    return "< 0.001" if p < 0.001 else f"{p:.3f}"


def seconds_text(evaluation: Evaluation) -> str:
    seconds = evaluation.mean.get("seconds_per_question")
    return NONE if seconds is None else f"{seconds:.4f}"


def parameters_text(evaluation: Evaluation) -> str:
    count = evaluation.parameters
    if count is None:
        return NONE
    return f"{count / 1e6:.1f} M" if count >= 100_000 else str(count)
