"""The paper's Figure 3 for a dataset: question types, structures, and the sizes of the evidence graphs."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from bgr.errors import DataError
from bgr.example import QUESTION_TYPES, STRUCTURES


def draw_statistics(statistics: Mapping[str, Any], path: str | Path) -> None:
    """Draw the result of `dataset_statistics` into an image file; its ending decides the format.

    Raises:
        DataError: the file cannot be written, or matplotlib does not know its ending.
    """
    from matplotlib.figure import Figure

    figure = Figure(figsize=(11, 7), layout="constrained")
    axes = figure.subplots(2, 2)
    total = statistics["questions"]["total"]
    _bars(axes[0, 0], "question types", QUESTION_TYPES, statistics["types"]["total"])
    _bars(axes[0, 1], "structures", STRUCTURES, statistics["structures"]["total"])
    for axis, name in ((axes[1, 0], "nodes"), (axes[1, 1], "edges")):
        counts = statistics[name]
        axis.bar([int(number) for number in counts], list(counts.values()), color="#4878a8")
        axis.set_title(f"{name} of the evidence graph")
        axis.set_xlabel(f"number of {name}")
        axis.set_ylabel("questions")
        axis.set_yscale("log")
    figure.suptitle(f"{total:,} questions, {statistics['evidence_structures']} non-isomorphic graphs")
    try:
        figure.savefig(path, dpi=120)
    except (OSError, ValueError) as error:
        raise DataError(f"{path}: cannot be drawn: {error}") from error


def _bars(axis: Any, title: str, names: tuple[str, ...], counts: Mapping[str, int]) -> None:
    total = sum(counts.values()) or 1
    bars = axis.bar(names, [counts[name] for name in names], color="#6a9f58")
    axis.bar_label(bars, [f"{100 * counts[name] / total:.1f} %" for name in names])
    axis.set_title(title)
    axis.set_ylabel("questions")
    axis.margins(y=0.12)
