"""Quality against what it costs: systems that no other beats at both are on the Pareto front.

R@k of every system as bars with their intervals.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from textwrap import fill
from typing import Any

import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator, NullFormatter, StrMethodFormatter

from eval.compare.plots import COLOURS, bar_style
from eval.passages.compare import PassageComparison
from eval.passages.groups import usage_of
from eval.passages.score import RECALLS, SystemScores
from eval.passages.text import corpus_line
from eval.run.significance import Interval

NOTHING = Interval(float("nan"), float("nan"), float("nan"))


def plot_recall(comparison: PassageComparison, path: str | Path) -> None:
    """One group of bars for each k, one bar for each system, percent; no bars where no question has gold."""
    systems = comparison.systems
    figure = Figure(figsize=(max(7.0, 2.0 + 0.32 * len(RECALLS) * len(systems)), 4.4), layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.subplots()
    places, width = np.arange(len(RECALLS)), 0.84 / len(systems)
    for number, one in enumerate(systems):
        found = [comparison.intervals[one.name].get(metric, NOTHING) for metric in RECALLS]
        means = np.array([100 * each.mean for each in found])
        bounds = np.array([[100 * each.low for each in found], [100 * each.high for each in found]])
        axes.bar(
            places + (number - (len(systems) - 1) / 2) * width,
            means,
            0.9 * width,
            yerr=np.abs(bounds - means),
            label=f"\u200b{one.name}",  # a label that begins with "_" would be left out of the legend
            error_kw={"elinewidth": 0.8, "ecolor": "#444444"},
            **bar_style(number),
        )
    axes.set_xticks(places, RECALLS)
    axes.set_ylabel("percent of the gold passages")
    axes.set_ylim(0, 100)
    axes.set_axisbelow(True)
    axes.grid(axis="y", color="#dddddd", linewidth=0.6)
    axes.spines[["top", "right"]].set_visible(False)
    axes.set_title(corpus_line(comparison.about), loc="left", fontsize=8, parse_math=False)
    legend = figure.legend(loc="outside lower center", ncols=min(6, len(systems)), frameon=False)
    for text in legend.get_texts():
        text.set_parse_math(False)
    figure.savefig(path, dpi=130)


BOUNDS = ("gold", "nothing")
"""Systems that are given what others find."""

QUALITIES = ("R@5", "F1", "GM", "QA F1")
"""What is drawn, where some system has it."""


def front(points: Sequence[tuple[float, float]]) -> list[int]:
    """Numbers of the points ``(cost, quality)`` that no other point beats, by rising cost: none has less or equal cost
    and more or equal quality, and one of them truly so."""
    order = sorted(range(len(points)), key=lambda n: (points[n][0], -points[n][1]))
    best = float("-inf")
    found: list[int] = []
    for number in order:
        equal = bool(found) and points[number] == points[found[-1]]
        if points[number][1] > best or equal:
            best = points[number][1]
            found.append(number)
    return found


def points_of(comparison: PassageComparison, metric: str, by: str) -> dict[str, tuple[float, float]]:
    """What is drawn of each system: its cost for a question, in ``seconds`` or ``tokens`` read and written, and its
    quality in percent. The bounds are left out, as what is given is not found; so are systems without the metric.
    Tokens that were not counted are NaN: such a system has a place in the legend alone."""
    found = {}
    for one in _found_by(comparison):
        interval, usage = comparison.intervals[one.name].get(metric), usage_of(one)
        if interval is not None:
            cost = usage["seconds"] if by == "seconds" else usage["tokens_in"] + usage["tokens_out"]
            found[one.name] = (cost, 100 * interval.mean)
    return found


def _found_by(comparison: PassageComparison) -> list[SystemScores]:
    return [one for one in comparison.systems if one.name not in BOUNDS]


def plot_pareto(comparison: PassageComparison, path: str | Path) -> None:
    """One row of panels for each quality: against tokens, where some system asks a model, and against seconds of a
    question; the front is a line. See `points_of`."""
    systems = _found_by(comparison)
    qualities = [metric for metric in QUALITIES if any(metric in comparison.intervals[one.name] for one in systems)]
    costs = {"tokens": "tokens read and written", "seconds": "seconds"}
    qualities = qualities or [QUALITIES[0]]  # empty panels say that nothing can be drawn
    if not any(one.usage.tokens_in for one in systems):
        del costs["tokens"]
    figure = Figure(figsize=(6.2 * len(costs), 3.2 * len(qualities) + 0.9), layout="constrained")
    FigureCanvasAgg(figure)
    panels = figure.subplots(len(qualities), len(costs), sharey="row", squeeze=False)
    for line, metric in zip(panels, qualities, strict=True):
        for axes, by in zip(line, costs, strict=True):
            _panel(axes, [one.name for one in systems], points_of(comparison, metric, by), by)
        line[0].set_ylabel(f"{metric}, percent")
    for axes, text in zip(panels[-1], costs.values(), strict=True):
        axes.set_xlabel(f"{text} a question")
    figure.suptitle(
        fill(corpus_line(comparison.about), 70 * len(costs)), fontsize=8, x=0.01, ha="left", parse_math=False
    )
    handles, labels = panels[0, 0].get_legend_handles_labels()
    legend = figure.legend(handles, labels, loc="outside lower center", ncols=4 * len(costs), frameon=False)
    for entry in legend.get_texts():
        entry.set_parse_math(False)
    figure.savefig(path, dpi=130)


MARKERS = "osD^vP*X"


def _panel(axes: Any, names: Sequence[str], points: Mapping[str, tuple[float, float]], by: str) -> None:
    for number, name in enumerate(names):
        if name in points:
            style = {"color": bar_style(number)["color"], "marker": MARKERS[number // len(COLOURS) % len(MARKERS)]}
            # a label that begins with "_" would be left out of the legend
            axes.plot(*points[name], **style, markersize=7, linestyle="none", label=f"\u200b{name}", clip_on=False)
    drawn = [point for point in points.values() if not math.isnan(point[0])]
    ends = [drawn[number] for number in front(drawn)]
    axes.plot([x for x, _ in ends], [y for _, y in ends], color="#888888", linewidth=0.9, zorder=0)
    if by == "tokens":  # most systems ask nothing: 0 has its place on the axis
        axes.set_xscale("symlog", linthresh=100)
        axes.set_xlim(-20, 2 * max((x for x, _ in drawn), default=100))
    else:
        axes.set_xscale("log")
        axes.xaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
        axes.xaxis.set_major_formatter(StrMethodFormatter("{x:g}"))
        axes.xaxis.set_minor_formatter(NullFormatter())
    axes.grid(color="#dddddd", linewidth=0.6)
    axes.spines[["top", "right"]].set_visible(False)
