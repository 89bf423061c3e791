"""The paper's Figure 6 (bars by question type and by structure) and Table 6 (hops by chains) as pictures."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from eval.breakdown import breakdown, hops_by_chains
from eval.evaluate import Evaluation

BLUE, ORANGE = "#3b6fb6", "#e08a3c"
PANELS = (("gm", "GM"), ("gs", "GS"), ("ged", "GED"), ("f1", "F1"), ("em", "EM"))


def plot_groups(evaluation: Evaluation, path: str | Path) -> None:
    """F1 and GM, in percent, by question type (A) and by structure (B)."""
    figure = Figure(figsize=(11, 4.2), layout="constrained")
    FigureCanvasAgg(figure)
    left, right = figure.subplots(1, 2, sharey=True)
    _bars(left, evaluation, "type", "A  by question type")
    _bars(right, evaluation, "structure", "B  by structure")
    left.set_ylabel("percent")
    figure.legend(*left.get_legend_handles_labels(), loc="outside upper right", ncols=2, frameon=False)
    figure.suptitle(evaluation.name, x=0.01, ha="left", parse_math=False)
    figure.savefig(path, dpi=150)


def _bars(axes: Any, evaluation: Evaluation, by: str, title: str) -> None:
    groups = breakdown(evaluation, by)
    places = np.arange(len(groups))
    for offset, (metric, label, colour) in ((-0.2, ("f1", "F1", BLUE)), (0.2, ("gm", "GM", ORANGE))):
        heights = [100 * mean[metric] for mean in groups.values()]
        bars = axes.bar(places + offset, heights, 0.38, label=label, color=colour)
        axes.bar_label(bars, fmt="%.0f", fontsize=8, padding=1)
    axes.set_xticks(places, [f"{name}\nn = {mean['n']:.0f}" for name, mean in groups.items()])
    axes.set_ylim(0, 108)
    axes.set_title(title, loc="left", fontsize=10)
    axes.spines[["top", "right"]].set_visible(False)


def plot_hops_by_chains(evaluation: Evaluation, path: str | Path) -> None:
    """GM, GS, GED, F1 and EM for each pair of hops (across) and chains (up); each cell also says how many questions."""
    cells = hops_by_chains(evaluation)
    hops, chains = (sorted({pair[side] for pair in cells}) for side in (0, 1))
    width = max(2.6, 0.62 * len(hops) + 0.9)
    figure = Figure(figsize=(width * len(PANELS), 1.6 + 0.5 * len(chains)), layout="constrained")
    FigureCanvasAgg(figure)
    for axes, (metric, title) in zip(figure.subplots(1, len(PANELS)), PANELS, strict=True):
        scale = 1 if metric == "ged" else 100
        values = np.full((len(chains), len(hops)), np.nan)
        for (h, c), mean in cells.items():
            values[chains.index(c), hops.index(h)] = scale * mean[metric]
        _heat_map(axes, values, largest=None if metric == "ged" else 100)
        for (h, c), mean in cells.items():
            _write_cell(axes, hops.index(h), chains.index(c), scale * mean[metric], int(mean["n"]), metric)
        axes.set_xticks(range(len(hops)), [str(h) for h in hops])
        axes.set_yticks(range(len(chains)), [str(c) for c in chains])
        axes.set_xlabel("hops")
        axes.set_title(f"{title} (edits)" if metric == "ged" else f"{title} (%)", fontsize=10)
    figure.axes[0].set_ylabel("chains")
    figure.suptitle(evaluation.name, x=0.01, ha="left", parse_math=False)
    figure.savefig(path, dpi=150)


def _heat_map(axes: Any, values: np.ndarray, largest: float | None) -> None:
    top = largest or max(1.0, float(np.nanmax(values)))
    axes.imshow(values, origin="lower", aspect="auto", cmap="Blues", vmin=0, vmax=2.2 * top)  # pale: text stays black
    axes.set_facecolor("#f2f2f2")


def _write_cell(axes: Any, x: int, y: int, value: float, count: int, metric: str) -> None:
    text = f"{value:.1f}" if metric == "ged" else f"{value:.0f}"
    axes.text(x, y + 0.12, text, ha="center", va="center", fontsize=9)
    axes.text(x, y - 0.25, f"n={count}", ha="center", va="center", fontsize=7, color="#222222")
