"""Figures of the reports, as PNG files: the paper's Figures 5 and 6 and Table 6, R@k by system, and quality against
cost."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from textwrap import fill
from typing import Any

import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, FuncFormatter, NullFormatter, NullLocator

from eval.compare.compare import TITLES, Comparison
from eval.compare.passages import PassageComparison, corpus_line
from eval.run.breakdown import breakdown, hops_by_chains
from eval.run.evaluate import Evaluation
from eval.run.passage_scores import RECALLS, SystemScores, usage_of
from eval.run.significance import Interval
from eval.systems.spec import BOUNDS

COLORS = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#8C8C8C", "#F0E442")
"""Okabe and Ito's palette, which color-blind readers can distinguish."""

BLUE, ORANGE = "#3b6fb6", "#e08a3c"
HATCHES = (None, "///", "...", "xxx")
MARKERS = "osD^vP*X"
PANELS = (("gm", "GM"), ("gs", "GS"), ("ged", "GED"), ("f1", "F1"), ("em", "EM"))
SWEEP_PANELS = (("gm", "GM (%)"), ("gs", "GS (%)"), ("f1", "F1 (%)"), ("ged", "GED (edits, lower is better)"))
STYLES: Mapping[str, tuple[str, str, str]] = {
    "fused": ("#c0392b", "-", "o"),
    "equation": ("#3b6fb6", "-", "s"),
    "intersection": ("#2f8f5b", "-", "^"),
    "released": ("#e08a3c", "-", "D"),
    "forward": ("#555555", "--", ""),
    "backward": ("#555555", ":", ""),
}
"""Color, line and marker of each rule. Single directions, which do not depend on γ, are lines without markers."""

GROUPED = ("gm", "f1", "qa_em")
"""The metrics of the paper's Figure 6."""

QUALITIES = ("R@5", "F1", "GM", "QA F1")
"""The metrics that are drawn against cost, if some system has them."""

_NO_INTERVAL = Interval(float("nan"), float("nan"), float("nan"))


def new_figure(width: float, height: float) -> Figure:
    figure = Figure(figsize=(width, height), layout="constrained")
    FigureCanvasAgg(figure)
    return figure


def bare(axes: Any, *, grid: str | None = None) -> None:
    """Axes without the upper and right lines, with a pale grid behind the data."""
    axes.spines[["top", "right"]].set_visible(False)
    if grid is not None:
        axes.set_axisbelow(True)
        axes.grid(axis=grid, color="#dddddd", linewidth=0.6)


def add_legend(figure: Figure, axes: Any, columns: int) -> None:
    """A legend below the panels. Names of systems can be any text, so none is parsed as a formula."""
    handles, labels = axes.get_legend_handles_labels()
    legend = figure.legend(
        handles, labels, loc="outside lower center", ncols=min(columns, len(labels) or 1), frameon=False
    )
    for text in legend.get_texts():
        text.set_parse_math(False)


def label_of(name: str) -> str:
    """Without the zero-width space, the legend would omit a label that begins with an underscore."""
    return f"\u200b{name}"


def bar_style(number: int) -> dict[str, Any]:
    """Color and hatch of a system's bars: a ninth system starts the colors again, hatched."""
    turn, color = divmod(number, len(COLORS))
    return {"color": COLORS[color], "hatch": HATCHES[turn % len(HATCHES)]}


def plot_groups(evaluation: Evaluation, path: str | Path) -> None:
    """F1 and GM, in percent, by question type (A) and by structure (B)."""
    figure = new_figure(11, 4.2)
    left, right = figure.subplots(1, 2, sharey=True)
    for axes, by, title in ((left, "type", "A  by question type"), (right, "structure", "B  by structure")):
        groups = breakdown(evaluation, by)
        places = np.arange(len(groups))
        for offset, (metric, label, color) in ((-0.2, ("f1", "F1", BLUE)), (0.2, ("gm", "GM", ORANGE))):
            heights = [100 * mean[metric] for mean in groups.values()]
            bars = axes.bar(places + offset, heights, 0.38, label=label, color=color)
            axes.bar_label(bars, fmt="%.0f", fontsize=8, padding=1)
        axes.set_xticks(places, [f"{name}\nn = {mean['n']:.0f}" for name, mean in groups.items()])
        axes.set_ylim(0, 108)
        axes.set_title(title, loc="left", fontsize=10)
        bare(axes)
    left.set_ylabel("percent")
    figure.legend(*left.get_legend_handles_labels(), loc="outside upper right", ncols=2, frameon=False)
    figure.suptitle(evaluation.name, x=0.01, ha="left", parse_math=False)
    figure.savefig(path, dpi=150, format="png")


def plot_hops_by_chains(evaluation: Evaluation, path: str | Path) -> None:
    """GM, GS, GED, F1 and EM for each pair of hops (across) and chains (up), with the number of questions."""
    cells = hops_by_chains(evaluation)
    hops, chains = (sorted({pair[side] for pair in cells}) for side in (0, 1))
    width = max(2.6, 0.62 * len(hops) + 0.9)
    figure = new_figure(width * len(PANELS), 1.6 + 0.5 * len(chains))
    for axes, (metric, title) in zip(figure.subplots(1, len(PANELS)), PANELS, strict=True):
        scale = 1 if metric == "ged" else 100
        values = np.full((len(chains), len(hops)), np.nan)
        for (h, c), mean in cells.items():
            x, y, value = hops.index(h), chains.index(c), scale * mean[metric]
            values[y, x] = value
            text = f"{value:.1f}" if metric == "ged" else f"{value:.0f}"
            axes.text(x, y + 0.12, text, ha="center", va="center", fontsize=9)
            axes.text(x, y - 0.25, f"n={int(mean['n'])}", ha="center", va="center", fontsize=7, color="#222222")
        largest = max(1.0, float(np.nanmax(values))) if metric == "ged" else 100
        # the colors end at 2.2 times the largest value, so that they are pale and text stays readable
        axes.imshow(values, origin="lower", aspect="auto", cmap="Blues", vmin=0, vmax=2.2 * largest)
        axes.set_facecolor("#f2f2f2")
        axes.set_xticks(range(len(hops)), [str(h) for h in hops])
        axes.set_yticks(range(len(chains)), [str(c) for c in chains])
        axes.set_xlabel("hops")
        axes.set_title(f"{title} (edits)" if metric == "ged" else f"{title} (%)", fontsize=10)
    figure.axes[0].set_ylabel("chains")
    figure.suptitle(evaluation.name, x=0.01, ha="left", parse_math=False)
    figure.savefig(path, dpi=150, format="png")


def plot_sweep(
    gammas: Sequence[float],
    points: Mapping[str, Sequence[Mapping[str, float]]],
    best: Mapping[str, float],
    title: str,
    path: str | Path,
) -> None:
    """One panel for each metric, with a ring at each rule's best γ."""
    figure = new_figure(10.5, 7.4)
    panels = figure.subplots(2, 2, sharex=True)
    for axes, (metric, label) in zip(panels.flat, SWEEP_PANELS, strict=True):
        for rule in sorted(points, key=list(STYLES).index):
            scale = 1 if metric == "ged" else 100
            values, (color, line, marker) = [scale * point[metric] for point in points[rule]], STYLES[rule]
            style = {"color": color, "marker": marker or None, "markersize": 3.5, "linewidth": 1.5}
            axes.plot(gammas, values, line, **style, label=rule)
            if marker:  # not a single direction
                at = list(gammas).index(best[rule])
                axes.plot([best[rule]], [values[at]], "o", markersize=10, markerfacecolor="none", markeredgecolor=color)
        axes.set_title(label, loc="left", fontsize=10)
        bare(axes, grid="y")
    for axes in panels[1]:
        axes.set_xlabel("γ")
        axes.set_xticks([step / 5 for step in range(6)])
    figure.legend(*panels[0, 0].get_legend_handles_labels(), loc="outside lower center", ncols=6, frameon=False)
    figure.suptitle(
        f"Reconstruction by γ: {title}   (ring: the γ with the best mean of GM and F1)",
        x=0.01,
        ha="left",
        fontsize=11,
        parse_math=False,
    )
    figure.savefig(path, dpi=150, format="png")


def plot_figure6(comparison: Comparison, path: str | Path) -> None:
    """One row of panels for each metric, one bar for each system."""
    metrics = [m for m in GROUPED if m in comparison.metrics]
    figure = new_figure(13, 2.9 * len(metrics) + 0.7)
    panels = figure.subplots(len(metrics), 2, sharey=True, squeeze=False)
    for line, metric in zip(panels, metrics, strict=True):
        for axes, by, title in zip(
            line, ("type", "structure"), ("A  by question type", "B  by structure"), strict=True
        ):
            means = {one.name: breakdown(one, by) for one in comparison.evaluations}
            heights = {
                name: [100 * mean.get(metric, math.nan) for mean in groups.values()] for name, groups in means.items()
            }
            counts = next(iter(means.values()))
            _bars(axes, heights, [f"{group}\nn = {mean['n']:.0f}" for group, mean in counts.items()])
            axes.set_title(f"{title}: {TITLES[metric]}", loc="left", fontsize=10)
        line[0].set_ylabel("percent")
    add_legend(figure, panels[0, 0], 8)
    figure.savefig(path, dpi=130, format="png")


def plot_recall(comparison: PassageComparison, path: str | Path) -> None:
    """One group of bars for each k, one bar for each system, percent; no bars if no question has gold passages."""
    heights, errors = {}, {}
    for name, intervals in comparison.intervals.items():
        found = [intervals.get(metric, _NO_INTERVAL) for metric in RECALLS]
        means = np.array([100 * each.mean for each in found])
        bounds = np.array([[100 * each.low for each in found], [100 * each.high for each in found]])
        heights[name], errors[name] = means, np.abs(bounds - means)
    figure = new_figure(max(7.0, 2.0 + 0.32 * len(RECALLS) * len(heights)), 4.4)
    axes = figure.subplots()
    _bars(axes, heights, RECALLS, errors)
    axes.set_ylabel("percent of the gold passages")
    axes.set_title(corpus_line(comparison.about), loc="left", fontsize=8, parse_math=False)
    add_legend(figure, axes, 6)
    figure.savefig(path, dpi=130, format="png")


def _bars(
    axes: Any, heights: Mapping[str, Any], ticks: Sequence[str], errors: Mapping[str, np.ndarray] | None = None
) -> None:
    """A group of bars for each tick, one bar for each system, in percent."""
    places, width = np.arange(len(ticks)), 0.84 / len(heights)
    for number, (name, values) in enumerate(heights.items()):
        axes.bar(
            places + (number - (len(heights) - 1) / 2) * width,
            values,
            0.9 * width,
            yerr=errors and errors[name],
            label=label_of(name),
            error_kw={"elinewidth": 0.8, "ecolor": "#444444"},
            **bar_style(number),
        )
    axes.set_xticks(places, ticks)
    axes.set_ylim(0, 100)
    bare(axes, grid="y")


def front(points: Sequence[tuple[float, float]]) -> list[int]:
    """Numbers of the points ``(cost, quality)`` on the Pareto front, by ascending cost: every other point has more cost
    or less quality, or is equal."""
    found: list[int] = []
    for number in sorted(range(len(points)), key=lambda n: (points[n][0], -points[n][1])):
        best = points[found[-1]] if found else (-math.inf, -math.inf)
        if points[number][1] > best[1] or points[number] == best:
            found.append(number)
    return found


def points_of(comparison: PassageComparison, metric: str, by: str) -> dict[str, tuple[float, float]]:
    """The point of each system that has the metric, without the bounds: its cost for a question, in ``seconds`` or
    ``tokens`` (read and written; NaN if they were not counted, and then the system is only in the legend), and its
    quality in percent."""
    found = {}
    for one in _without_bounds(comparison):
        interval, usage = comparison.intervals[one.name].get(metric), usage_of(one)
        if interval is not None:
            cost = usage["seconds"] if by == "seconds" else usage["tokens_in"] + usage["tokens_out"]
            found[one.name] = (cost, 100 * interval.mean)
    return found


def _without_bounds(comparison: PassageComparison) -> list[SystemScores]:
    return [one for one in comparison.systems if one.name not in BOUNDS]


def plot_pareto(comparison: PassageComparison, path: str | Path) -> None:
    """One row of panels for each quality: against tokens, if some system calls a model, and against seconds for a
    question, with a line along the Pareto front."""
    systems = _without_bounds(comparison)
    qualities = [metric for metric in QUALITIES if any(metric in comparison.intervals[one.name] for one in systems)]
    qualities = qualities or [QUALITIES[0]]  # empty panels show that nothing can be drawn
    costs = {"tokens": "tokens read and written", "seconds": "seconds"}
    if not any(one.usage.tokens_in for one in systems):
        del costs["tokens"]
    figure = new_figure(6.2 * len(costs), 3.2 * len(qualities) + 0.9)
    panels = figure.subplots(len(qualities), len(costs), sharey="row", squeeze=False)
    for line, metric in zip(panels, qualities, strict=True):
        for axes, by in zip(line, costs, strict=True):
            _panel(axes, [one.name for one in systems], points_of(comparison, metric, by), by)
        line[0].set_ylabel(f"{metric}, percent")
    for axes, text in zip(panels[-1], costs.values(), strict=True):
        axes.set_xlabel(f"{text} a question")
    title = fill(corpus_line(comparison.about), 70 * len(costs))
    figure.suptitle(title, fontsize=8, x=0.01, ha="left", parse_math=False)
    add_legend(figure, panels[0, 0], 4 * len(costs))
    figure.savefig(path, dpi=130, format="png")


def _panel(axes: Any, names: Sequence[str], points: Mapping[str, tuple[float, float]], by: str) -> None:
    for number, name in enumerate(names):
        if name in points:
            style = {"color": bar_style(number)["color"], "marker": MARKERS[number // len(COLORS) % len(MARKERS)]}
            axes.plot(*points[name], **style, markersize=7, linestyle="none", label=label_of(name), clip_on=False)
    drawn = [point for point in points.values() if not math.isnan(point[0])]
    ends = [drawn[number] for number in front(drawn)]
    axes.plot([x for x, _ in ends], [y for _, y in ends], color="#888888", linewidth=0.9, zorder=0)
    costs = [x for x, _ in drawn if x > 0]
    if by == "tokens":  # most systems call no model, so the axis includes 0
        high = 2 * max(costs, default=100)
        axes.set_xscale("symlog", linthresh=100)
        axes.set_xlim(-20, high)
        ticks = [0.0, *log_ticks(100, high)]
    else:
        low, high = min(costs, default=1) / 1.5, 1.5 * max(costs, default=1)
        axes.set_xscale("log")
        axes.set_xlim(low, high)
        ticks = log_ticks(low, high)
    set_ticks(axes.xaxis, ticks)
    axes.xaxis.set_minor_formatter(NullFormatter())
    bare(axes, grid="both")


def set_ticks(axis: Any, ticks: Sequence[float]) -> None:
    """Only these ticks, each with its number in full."""
    axis.set_major_locator(FixedLocator(ticks))
    axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,g}"))
    axis.set_minor_locator(NullLocator())


def log_ticks(low: float, high: float) -> list[float]:
    """At most six round numbers of a logarithmic axis, so that their labels do not overlap: 1, 2 and 5 times powers of
    ten over at most two decades, or other digits if none of these is in the range; otherwise powers of ten (over many
    decades only some of them)."""
    first, last = math.floor(math.log10(low)), math.ceil(math.log10(high))
    ticks: list[float] = []
    for steps in ((1, 2, 5), range(1, 10)) if last - first <= 2 else ((1,),):
        every = [step * 10.0**power for power in range(first, last + 1) for step in steps]
        ticks = ticks or [tick for tick in every if low <= tick <= high]
    return ticks[:: max(1, math.ceil(len(ticks) / 6))]
