"""The paper's Figure 6 for all systems: F1, GM and QA EM by question type (A) and by structure (B)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from eval.compare.compare import TITLES, Comparison
from eval.compare.tables import GROUPED
from eval.run.breakdown import breakdown

COLOURS = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#8C8C8C", "#F0E442")
"""Okabe and Ito's: told apart by colour-blind readers too."""

HATCHES = (None, "///", "...", "xxx")


def bar_style(number: int) -> dict[str, Any]:
    """Colour and hatch of a figure's systems, by place: a ninth one starts the colours again, hatched."""
    turn, colour = divmod(number, len(COLOURS))
    return {"color": COLOURS[colour], "hatch": HATCHES[turn % len(HATCHES)]}


def plot_figure6(comparison: Comparison, path: str | Path) -> None:
    """One row of panels for each metric, one bar for each system."""
    metrics = [m for m in GROUPED if m in comparison.metrics]
    figure = Figure(figsize=(13, 2.9 * len(metrics) + 0.7), layout="constrained")
    FigureCanvasAgg(figure)
    panels = figure.subplots(len(metrics), 2, sharey=True, squeeze=False)
    for line, metric in zip(panels, metrics, strict=True):
        for axes, by, title in zip(
            line, ("type", "structure"), ("A  by question type", "B  by structure"), strict=True
        ):
            _bars(axes, comparison, metric, by)
            axes.set_title(f"{title}: {TITLES[metric]}", loc="left", fontsize=10)
        line[0].set_ylabel("percent")
    handles, labels = panels[0, 0].get_legend_handles_labels()
    legend = figure.legend(handles, labels, loc="outside lower center", ncols=min(8, len(labels)), frameon=False)
    for text in legend.get_texts():
        text.set_parse_math(False)
    figure.savefig(path, dpi=130)


def _bars(axes: Any, comparison: Comparison, metric: str, by: str) -> None:
    counts = breakdown(comparison.evaluations[0], by)
    places, systems = np.arange(len(counts)), len(comparison.evaluations)
    width = 0.84 / systems
    for number, one in enumerate(comparison.evaluations):
        means = breakdown(one, by)
        heights = [100 * means[group].get(metric, np.nan) for group in counts]
        offset = (number - (systems - 1) / 2) * width
        # a label that begins with "_" would be left out of the legend
        axes.bar(places + offset, heights, 0.9 * width, label=f"\u200b{one.name}", **bar_style(number))
    axes.set_xticks(places, [f"{group}\nn = {mean['n']:.0f}" for group, mean in counts.items()])
    axes.set_ylim(0, 100)
    axes.set_axisbelow(True)
    axes.grid(axis="y", color="#dddddd", linewidth=0.6)
    axes.spines[["top", "right"]].set_visible(False)
