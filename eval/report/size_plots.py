"""Figures against a size: quality and cost by the number of candidates, time and memory by that of sentences."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from eval.report.plots import MARKERS, add_legend, bar_style, bare, label_of, log_ticks, new_figure, set_ticks

CANDIDATE_PANELS: Mapping[str, str] = {
    "gm": "GM (%)",
    "f1": "F1 (%)",
    "seconds": "seconds a question",
    "memory": "memory (MB)",
}
"""What is drawn against the number of candidates."""


class Line(NamedTuple):
    """A line over numbers of candidates, ascending, with the values of each of `CANDIDATE_PANELS`."""

    counts: Sequence[float]
    values: Mapping[str, Sequence[float]]


def plot_candidates(lines: Mapping[str, Line], title: str, path: str | Path) -> None:
    """Quality, time and memory against the number of candidates; both axes of time and memory are logarithmic."""
    figure = new_figure(10.5, 7.4)
    panels = figure.subplots(2, 2, sharex=True)
    for axes, (metric, label) in zip(panels.flat, CANDIDATE_PANELS.items(), strict=True):
        for number, (name, line) in enumerate(lines.items()):
            style = {"color": bar_style(number)["color"], "marker": MARKERS[number % len(MARKERS)]}
            axes.plot(line.counts, line.values[metric], **style, markersize=4, linewidth=1.4, label=label_of(name))
        axes.set_xscale("log")
        axes.set_ylabel(label)
        if metric in ("gm", "f1"):
            axes.set_ylim(0, 100)
        elif any(value > 0 for line in lines.values() for value in line.values[metric]):
            axes.set_yscale("log")
        bare(axes, grid="both")
    counts = [count for line in lines.values() for count in line.counts]
    low, high = min(counts, default=1) / 1.2, 1.2 * max(counts, default=10)
    for axes in panels[-1]:
        axes.set_xlim(low, high)
        set_ticks(axes.xaxis, log_ticks(low, high))
        axes.set_xlabel("candidates")
    figure.suptitle(title, x=0.01, ha="left", parse_math=False)
    add_legend(figure, panels[0, 0], 6)
    figure.savefig(path, dpi=130, format="png")


GROWTH_TIMES = {
    "single_ms": "a question alone",
    "ms": "a question in a batch",
    "search_ms": "its search",
    "floor_ms": "floor: one encoding and one BM25 search",
}


def draw_growth(rows: Sequence[Mapping[str, Any]], path: Path) -> None:
    """Draw time and memory by the number of sentences, both on a logarithmic scale.

    Args:
        rows: those of `bgr bench database`.
        path: a PNG file.
    """
    figure = new_figure(10.5, 4.2)
    times, memory = figure.subplots(1, 2, width_ratios=(3, 2))
    sizes = [row["sentences"] for row in rows]
    for number, (key, label) in enumerate(GROWTH_TIMES.items()):
        style = {"color": bar_style(number)["color"], "marker": MARKERS[number]}
        times.plot(sizes, [row[key] for row in rows], **style, label=label)
    times.set_ylabel("milliseconds")
    times.set_yscale("log")
    set_ticks(times.yaxis, log_ticks(*times.get_ylim()))
    add_legend(figure, times, 4)
    memory.plot(sizes, [row["ask_gb"] for row in rows], color=bar_style(0)["color"], marker=MARKERS[0])
    memory.set_ylabel("GB of memory while asking")
    memory.set_ylim(bottom=0)
    for axes in (times, memory):
        axes.set_xscale("log")
        axes.set_xticks(sizes, [f"{size:,}" for size in sizes])
        axes.minorticks_off()
        axes.set_xlabel("sentences")
        bare(axes, grid="both")
    figure.savefig(path, dpi=130, format="png")
