"""The paper's Figure 5 as a picture: what γ does to each metric, one line for each reconstruction rule."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

PANELS = (("gm", "GM (%)"), ("gs", "GS (%)"), ("f1", "F1 (%)"), ("ged", "GED (edits, lower is better)"))
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
    for axes, (metric, label) in zip(panels.flat, PANELS, strict=True):
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
