"""The comparison on disk: Markdown, CSV, JSON and a plot."""

from __future__ import annotations

import csv
import io
import json
import math
import os
import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from bgr.errors import DataError
from eval.bootstrap import Interval
from eval.passages.compare import Pair, PassageComparison
from eval.passages.groups import GROUPINGS, by_group, by_round, usage_of
from eval.passages.plot import plot_recall
from eval.passages.score import SystemScores
from eval.passages.text import PLOT, as_markdown

MARKDOWN, JSON = "passages.md", "passages.json"


def write_passages(folder: Path, comparison: PassageComparison) -> None:
    """Write ``passages.md``, ``passages.json``, ``systems.csv``, ``pairs.csv``, ``groups.csv``, ``rounds.csv`` and
    ``recall.png``; each takes its name only when it is whole.

    Raises:
        DataError: the folder cannot be written.
    """
    of = {name: comparison.about[name] for name in ("data", "data_hash", "passages", "corpus_hash")}
    found = as_json(comparison)
    systems = [
        {"system": name, **_flat(one), "failed": one["usage"]["failed"]} for name, one in found["systems"].items()
    ]
    groups = [
        {"system": name, "by": by, "group": group, **means}
        for name, one in found["systems"].items()
        for by in GROUPINGS
        for group, means in one["by"][by].items()
    ]
    rounds = [{"system": name, **row} for name, one in found["systems"].items() for row in one["rounds"]]
    _write_text(folder / MARKDOWN, as_markdown(comparison))
    _write_text(folder / JSON, json.dumps(found, indent=2, ensure_ascii=False) + "\n")
    for name, rows in (("systems", systems), ("pairs", found["pairs"]), ("groups", groups), ("rounds", rounds)):
        _write_text(folder / f"{name}.csv", _as_csv([{**_flat(row), **of} for row in rows]))
    _replace(folder / PLOT, lambda path: plot_recall(comparison, path))


def as_json(comparison: PassageComparison) -> dict[str, Any]:
    """All numbers with all their digits; what is no number is ``null``."""
    whole = {
        "about": dict(comparison.about),
        "systems": {one.name: _system(one, comparison) for one in comparison.systems},
        "pairs": [_pair(pair) for pair in comparison.pairs],
    }
    return _without_nan(whole)


def _system(one: SystemScores, comparison: PassageComparison) -> dict[str, Any]:
    means = {metric: _interval(found) for metric, found in comparison.intervals[one.name].items()}
    return {
        **means,
        "n": len(one.found),
        "per_question": usage_of(one),
        "usage": one.usage.to_json(),
        "by": {by: by_group(one, comparison.data, by) for by in GROUPINGS},
        "rounds": by_round(one, comparison.data),
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
        if name in ("by", "rounds", "usage"):
            continue
        if isinstance(value, Mapping):
            line |= {name if part == "mean" else f"{name}_{part}": number for part, number in value.items()}
        else:
            line[name] = value
    return line


def _without_nan(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {name: _without_nan(one) for name, one in value.items()}
    if isinstance(value, list | tuple):
        return [_without_nan(one) for one in value]
    return None if isinstance(value, float) and math.isnan(value) else value


def _as_csv(rows: Sequence[Mapping[str, Any]]) -> str:
    file = io.StringIO(newline="")
    writer = csv.DictWriter(file, list(dict.fromkeys(name for row in rows for name in row)))
    writer.writeheader()
    writer.writerows(rows)
    return file.getvalue()


def _write_text(path: Path, text: str) -> None:
    _replace(path, lambda half: half.write_bytes(text.encode()))


def _replace(path: Path, write: Callable[[Path], Any]) -> None:
    try:
        handle, name = tempfile.mkstemp(prefix=f".{path.stem}.", suffix=path.suffix, dir=path.parent)
        os.close(handle)
        half = Path(name)
        try:
            write(half)
            half.chmod(0o644)
            os.replace(half, path)
        finally:
            half.unlink(missing_ok=True)
    except OSError as error:
        raise DataError(f"{path}: cannot be written: {error.strerror or error}") from None
