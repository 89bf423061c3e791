"""Figure of the growth of time and memory with the number of sentences (`bgr bench database`)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from eval.report.plots import MARKERS, bar_style, bare, new_figure

TIMES = {
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
    for number, (key, label) in enumerate(TIMES.items()):
        style = {"color": bar_style(number)["color"], "marker": MARKERS[number]}
        times.plot(sizes, [row[key] for row in rows], **style, label=label)
    times.set_ylabel("milliseconds")
    times.set_yscale("log")
    times.legend(frameon=False)
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
