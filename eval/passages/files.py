"""The comparison on disk: Markdown, CSV, JSON and a plot."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from bgr.utils.atomic_io import without_nan, write_csv, write_json, write_text, write_whole
from eval.passages.compare import Pair, PassageComparison
from eval.passages.cuts import cuts
from eval.passages.groups import GROUPINGS, by_group, by_round, by_step, usage_of
from eval.passages.page import traces_page
from eval.passages.plots import plot_pareto, plot_recall
from eval.passages.score import RECALLS, SystemScores
from eval.passages.text import PARETO, PLOT, as_markdown
from eval.run.significance import Interval

MARKDOWN, JSON, PAGE = "passages.md", "passages.json", "traces.html"


def write_passages(folder: Path, comparison: PassageComparison) -> None:
    """Write ``passages.md``, ``passages.json``, ``systems.csv``, ``pairs.csv``, ``groups.csv``, ``rounds.csv``,
    ``recall.png`` (where recall was scored), ``pareto.png`` and ``traces.html``; each takes its name only when it is
    whole.

    Raises:
        DataError: the folder cannot be written.
    """
    of = {name: comparison.about[name] for name in ("data", "data_hash", "passages", "corpus_hash")}
    found = as_json(comparison)
    systems = [
        {"system": name, **_flat(one), **{count: one["usage"][count] for count in ("failed", "uncounted")}}
        for name, one in found["systems"].items()
    ]
    groups = [
        {"system": name, "by": by, "group": group, **means}
        for name, one in found["systems"].items()
        for by in GROUPINGS
        for group, means in one["by"][by].items()
    ]
    rounds = [{"system": name, **row} for name, one in found["systems"].items() for row in one["rounds"]]
    write_text(folder / MARKDOWN, as_markdown(comparison))
    write_json(folder / JSON, found)
    for name, rows in (("systems", systems), ("pairs", found["pairs"]), ("groups", groups), ("rounds", rounds)):
        write_csv(folder / f"{name}.csv", [{**_flat(row), **of} for row in rows])
    if set(RECALLS) & set(comparison.metrics):
        write_whole(folder / PLOT, lambda path: plot_recall(comparison, path))
    write_whole(folder / PARETO, lambda path: plot_pareto(comparison, path))
    drawn = {"Quality against tokens and seconds": folder / PARETO, "Recall by system": folder / PLOT}
    figures = {title: path for title, path in drawn.items() if path.is_file()}
    write_text(folder / PAGE, traces_page(comparison, figures))


def as_json(comparison: PassageComparison) -> dict[str, Any]:
    """All numbers with all their digits; what is no number is ``null``."""
    whole = {
        "about": dict(comparison.about),
        "systems": {one.name: _system(one, comparison) for one in comparison.systems},
        "pairs": [_pair(pair) for pair in comparison.pairs],
    }
    return without_nan(whole)


def _system(one: SystemScores, comparison: PassageComparison) -> dict[str, Any]:
    means = {metric: _interval(found) for metric, found in comparison.intervals[one.name].items()}
    return {
        **means,
        "n": len(one.found),
        "per_question": usage_of(one, comparison.price),
        "usage": one.usage.to_json(),
        "ged_not_exact": one.ged_not_exact,
        "cut": cuts(one),
        "by": {by: by_group(one, comparison.data, by) for by in GROUPINGS},
        "rounds": by_round(one, comparison.data, within=comparison.within),
        "steps": {step: usage.to_json() for step, usage in by_step(one).items()},
    }


def _interval(found: Interval) -> dict[str, float]:
    return {"mean": found.mean, "low": found.low, "high": found.high}


def _pair(pair: Pair) -> dict[str, Any]:
    signs = pair.signs
    return {
        "first": pair.first,
        "second": pair.second,
        "metric": pair.metric,
        "difference": _interval(pair.difference.interval),
        "p_bootstrap": pair.difference.p,
        "better": signs.better,
        "worse": signs.worse,
        "equal": signs.equal,
        "p_signs": signs.p,
    }


def _flat(row: Mapping[str, Any]) -> dict[str, Any]:
    """Objects of numbers become columns; ``mean`` keeps the name of its metric."""
    line: dict[str, Any] = {}
    for name, value in row.items():
        if name in ("by", "rounds", "steps", "usage"):
            continue
        if isinstance(value, Mapping):
            line |= {name if part == "mean" else f"{name}_{part}": number for part, number in value.items()}
        else:
            line[name] = value
    return line
