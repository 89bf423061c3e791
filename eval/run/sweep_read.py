"""A finished sweep read back (`bgr evaluate --sweep`), for the comparison's Figure 5."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

from bgr.errors import DataError
from bgr.utils.atomic_io import read_json
from bgr.utils.json_utils import shown
from eval.report.plots import STYLES

SWEEP_FILE = "sweep.json"
METRICS = ("gm", "gs", "f1", "ged")


def read_sweep(path: Path) -> dict[str, Any]:
    """What ``sweep.json`` says: ``about``, ``n``, ``gammas``, ``rules`` and ``best``.

    Args:
        path: the file, or the folder that holds it.

    Raises:
        DataError: it is missing, or is not what a sweep writes.
    """
    file = path / SWEEP_FILE if path.is_dir() else path
    content = read_json(file)
    parts = ("about", "rules", "best")
    if not isinstance(content, dict) or not all(isinstance(content.get(part), dict) for part in parts):
        raise DataError(f"{file}: not a sweep of bgr evaluate: {', '.join(parts)} must be objects")
    gammas, rules = content.get("gammas"), content["rules"]
    if not isinstance(gammas, list) or not gammas or not all(_number(gamma) and 0 <= gamma <= 1 for gamma in gammas):
        raise DataError(f"{file}: gammas is {shown(gammas)}, allowed: a list of numbers from 0 to 1")
    if not rules or not all(rule in STYLES for rule in rules):
        raise DataError(f"{file}: rules are {shown(sorted(rules))}, allowed: some of {', '.join(STYLES)}")
    for rule, points in rules.items():
        if not isinstance(points, list) or len(points) != len(gammas) or not all(map(_sound_point, points)):
            raise DataError(f"{file}: rule {rule}: one point with {', '.join(METRICS)} for each γ is needed")
        best = content["best"].get(rule)
        if not isinstance(best, dict) or best.get("gamma") not in gammas:
            raise DataError(f"{file}: rule {rule}: the best γ is none of the sweep's")
    return content


def _sound_point(point: Any) -> bool:
    return isinstance(point, dict) and all(_number(point.get(metric)) for metric in METRICS)


def _number(value: Any) -> bool:
    return type(value) in (int, float) and math.isfinite(value)
