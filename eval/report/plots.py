"""The paper's Figure 5 as a picture: what γ does to each metric, one line for each reconstruction rule.

The paper's Figure 6 (bars by question type and by structure) and Table 6 (hops by chains) as pictures.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from eval.run.breakdown import breakdown, hops_by_chains
from eval.run.evaluate import Evaluation

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


SWEEP_PANELS = (("gm", "GM (%)"), ("gs", "GS (%)"), ("f1", "F1 (%)"), ("ged", "GED (edits, lower is better)"))
STYLES: Mapping[str, tuple[str, str, str]] = {
    "fused": ("#c0392b", "-", "o"),
    "equation": ("#3b6fb6", "-", "s"),
    "intersection": ("#2f8f5b", "-", "^"),
    "released": ("#e08a3c", "-", "D"),
    "forward": ("#555555", "--", ""),
    "backward": ("#555555", ":", ""),
}
"""Colour, line and marker of each rule. Single directions do not depend on γ: they are the lines to beat."""


def plot_sweep(
    gammas: Sequence[float],
    points: Mapping[str, Sequence[Mapping[str, float]]],
    best: Mapping[str, float],
    title: str,
    path: str | Path,
) -> None:
    """One panel for each metric, a ring at each rule's best γ."""
    figure = Figure(figsize=(10.5, 7.4), layout="constrained")
    FigureCanvasAgg(figure)
    panels = figure.subplots(2, 2, sharex=True)
    for axes, (metric, label) in zip(panels.flat, SWEEP_PANELS, strict=True):
        for rule in sorted(points, key=list(STYLES).index):
            scale = 1 if metric == "ged" else 100
            _line(axes, gammas, [scale * point[metric] for point in points[rule]], rule, best[rule])
        axes.set_title(label, loc="left", fontsize=10)
        axes.grid(axis="y", color="#dddddd", linewidth=0.6)
        axes.spines[["top", "right"]].set_visible(False)
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
    figure.savefig(path, dpi=150)


def _line(axes: Any, gammas: Sequence[float], values: Sequence[float], rule: str, best: float) -> None:
    colour, line, marker = STYLES[rule]
    axes.plot(gammas, values, line, color=colour, marker=marker or None, markersize=3.5, linewidth=1.5, label=rule)
    if marker:  # where the rule is used
        at = list(gammas).index(best)
        axes.plot([best], [values[at]], "o", markersize=10, markerfacecolor="none", markeredgecolor=colour)
