"""The comparison on disk: Markdown, CSV, LaTeX, JSON, plots, the page, and predictions that can be read again."""

from __future__ import annotations

import csv
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from eval.compare.compare import PAIRED, Comparison
from eval.compare.plots import plot_figure6
from eval.compare.text import FIGURE5, FIGURE6, as_latex, as_markdown
from eval.report.html_report import write_html
from eval.report.plots import plot_sweep
from eval.report.report import as_json, write_csv, write_predictions
from eval.run.errors import write_errors


def write_comparison(folder: Path, comparison: Comparison, sweep: Mapping[str, Any] | None = None) -> None:
    """Write ``report.html``, ``compare.md``, ``compare.tex``, ``table4.csv``, ``pairs.csv``, ``errors.json``,
    ``errors.md``, ``figure6.png``, and as `bgr evaluate` does ``metrics.json``, ``metrics.csv`` (every breakdown of
    every system) and ``predictions.jsonl``, so that it can be compared again; with a sweep ``figure5.png``.

    Args:
        folder: an existing folder.
        comparison: the systems.
        sweep: a checked ``sweep.json`` (`read_sweep`).
    """
    figures = {"Figure 6": folder / FIGURE6}
    plot_figure6(comparison, folder / FIGURE6)
    if sweep is not None:
        best = {rule: one["gamma"] for rule, one in sweep["best"].items()}
        title = f"{sweep['about'].get('split', '')} n = {sweep.get('n')}".strip()
        plot_sweep(sweep["gammas"], sweep["rules"], best, title, folder / FIGURE5)
        figures["Figure 5"] = folder / FIGURE5
    (folder / "compare.md").write_text(as_markdown(comparison, with_sweep=sweep is not None), encoding="utf-8")
    (folder / "compare.tex").write_text(as_latex(comparison), encoding="utf-8")
    metrics = as_json(comparison.evaluations, comparison.main, comparison.about)
    text = json.dumps(metrics, indent=2, ensure_ascii=False)
    (folder / "metrics.json").write_text(text + "\n", encoding="utf-8")
    write_errors(folder, comparison.errors, comparison.examples)
    write_csv(folder / "metrics.csv", metrics["systems"])
    _write_lines(folder / "table4.csv", _table4_lines(comparison))
    _write_lines(folder / "pairs.csv", _pair_lines(comparison))
    write_predictions(folder / "predictions.jsonl", comparison.evaluations, comparison.examples)
    write_html(folder / "report.html", comparison, figures)


def _table4_lines(comparison: Comparison) -> list[dict[str, Any]]:
    """One line a system, numbers with all their digits."""
    lines = []
    for one in comparison.evaluations:
        line: dict[str, Any] = {"system": one.name, "n": len(one.rows)}
        for metric, found in comparison.intervals[one.name].items():
            line |= {metric: found.mean, f"{metric}_low": found.low, f"{metric}_high": found.high}
        extra = [name for name in ("seconds_per_question", "parameters") if name in one.mean]
        lines.append(line | {name: one.mean[name] for name in extra})
    return lines


def _pair_lines(comparison: Comparison) -> list[dict[str, Any]]:
    lines = []
    for pair in comparison.pairs:
        line: dict[str, Any] = {"first": pair.first, "second": pair.second}
        for metric in PAIRED:
            if found := pair.differences.get(metric):
                mean, low, high = found.interval.mean, found.interval.low, found.interval.high
                line |= {metric: mean, f"{metric}_low": low, f"{metric}_high": high, f"{metric}_p": found.p}
        lines.append(line)
    return lines


def _write_lines(path: Path, lines: Sequence[Mapping[str, Any]]) -> None:
    names = list(dict.fromkeys(name for line in lines for name in line))
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, names)
        writer.writeheader()
        writer.writerows(lines)
