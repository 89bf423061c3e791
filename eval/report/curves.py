"""Curves of a training from the CSV logs of its directions."""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from bgr.errors import DataError
from eval.report.plots import COLORS, bare, new_figure

PANELS = (("train/loss", "loss of the training steps"), ("dev/loss", "loss on dev"), ("dev/score", "dev score"))
SMOOTHED = 20
"""Logged losses in the moving mean."""

Points = tuple[list[float], list[float]]


def read_curves(log: Path) -> dict[str, Points]:
    """Steps and values of each metric of a log.

    Raises:
        DataError: there is no such file, or it has no training step.
    """
    if not log.is_file():
        raise DataError(f"{log}: no such file")
    found: dict[str, Points] = {name: ([], []) for name, _ in PANELS}
    with log.open(newline="", encoding="utf-8") as file:
        for row in csv.DictReader(file):
            for name, (steps, values) in found.items():
                if row.get(name):
                    steps.append(float(row["step"]))
                    values.append(float(row[name]))
    if not found["train/loss"][0]:
        raise DataError(f"{log}: has no training step")
    return found


def plot_curves(logs: Mapping[str, Path], path: Path, title: str) -> None:
    """Draw the losses and dev scores of several trainings by step to a PNG file; raises as `read_curves`."""
    curves = {name: read_curves(log) for name, log in logs.items()}
    figure = new_figure(11, 3.4)
    for axes, (metric, label) in zip(figure.subplots(1, len(PANELS)), PANELS, strict=True):
        for number, (name, found) in enumerate(curves.items()):
            steps, values = found[metric]
            if metric == "train/loss":
                axes.plot(steps, values, color=COLORS[number], alpha=0.25, linewidth=0.7)
                steps, values = steps, _smoothed(values)
            marker = "" if metric == "train/loss" else "o"
            axes.plot(steps, values, color=COLORS[number], marker=marker, markersize=3, label=name)
        axes.set(xlabel="step", title=label)
        bare(axes, grid="y")
    figure.axes[0].legend(frameon=False)
    figure.suptitle(title)
    figure.savefig(path, dpi=150)


def _smoothed(values: Sequence[float]) -> list[float]:
    """The mean of each value and those before it, at most `SMOOTHED`."""
    return [float(np.mean(values[max(0, end - SMOOTHED) : end])) for end in range(1, len(values) + 1)]
