"""R@k of every system as bars with their intervals."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from eval.bootstrap import Interval
from eval.compare_plots import bar_style
from eval.passages.compare import PassageComparison
from eval.passages.score import RECALLS
from eval.passages.text import corpus_line

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
