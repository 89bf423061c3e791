"""Every reconstruction rule at every γ on one run of both directions (paper, Figure 5), and a finished sweep read
again."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import Any

from tqdm import tqdm

from bgr.data.example import Example
from bgr.errors import BgrError, DataError
from bgr.graph.evidence_graph import EvidenceGraph
from bgr.metrics.evidence_set import evidence_set
from bgr.metrics.ged import graph_edit_distance
from bgr.metrics.gm_gs import graph_match, graph_structure_match
from bgr.retrievers.graph_hop.reconstruction import GAMMAS, RULES
from bgr.utils.atomic_io import read_json
from bgr.utils.json_utils import shown

SINGLE = ("forward", "backward")
"""Rules that γ means nothing to."""
SWEEP_FILE = "sweep.json"
METRICS = ("gm", "gs", "f1", "ged")

Point = dict[str, float]
"""Means at one γ: ``gm``, ``gs``, ``f1`` and their ``score`` (mean of GM and F1) in 0 … 1, ``ged`` in edits."""


@dataclass(frozen=True)
class Sweep:
    """Means over `n` questions: for each rule a point for each of `gammas`. `ged_not_exact` counts the different
    graphs whose edit distance ran out of time; they enter with the best edit found."""

    gammas: tuple[float, ...]
    points: Mapping[str, tuple[Point, ...]]
    n: int
    ged_not_exact: int = 0

    def best(self, rule: str) -> tuple[float, Point]:
        """γ with the greatest score, of equal ones the smallest, and its point."""
        place = max(range(len(self.gammas)), key=lambda i: (self.points[rule][i]["score"], -i))
        return self.gammas[place], self.points[rule][place]

    def to_json(self, about: Mapping[str, Any]) -> dict[str, Any]:
        """All points; scores in 0 … 1."""
        best = {rule: self.best(rule) for rule in self.points}
        return {
            "about": dict(about),
            "n": self.n,
            "gammas": list(self.gammas),
            "rules": {rule: list(points) for rule, points in self.points.items()},
            "best": {rule: {"gamma": gamma, **point} for rule, (gamma, point) in best.items()},
            "ged_not_exact": self.ged_not_exact,
        }


def sweep(
    merge: Callable[[int, str, float], EvidenceGraph],
    examples: Sequence[Example],
    rules: Sequence[str],
    *,
    gammas: Sequence[float] = GAMMAS,
    ged_seconds: float | None = 1.0,
    progress: bool = False,
) -> Sweep:
    """Score every rule at every γ.

    Args:
        merge: from a question's place, a rule and γ to the graph.
        examples: the questions.
        rules: names of rules.
        gammas: in [0, 1], rising.
        ged_seconds: limit of one edit distance; None for none.
        progress: show a bar.

    Raises:
        DataError: there are no examples.
        BgrError: no rule, no γ, or one out of its range.
    """
    if not examples:
        raise DataError("there are no examples to score")
    if not rules or not gammas or not all(0 <= gamma <= 1 for gamma in gammas):
        raise BgrError(f"nothing to sweep: rules {list(rules)}, gammas {list(gammas)}, allowed: 0 to 1")
    rows: dict[str, list[list[Point]]] = {rule: [[] for _ in gammas] for rule in rules}
    cut = 0
    for place, example in enumerate(tqdm(examples, desc="sweep", disable=not progress, delay=2, unit="question")):
        known: dict[frozenset[tuple[int, int]], Point] = {}  # most γ give a graph that was there before
        for rule in rules:
            for number, gamma in enumerate(gammas):
                if rule in SINGLE and number:
                    rows[rule][number].append(rows[rule][0][-1])
                    continue
                graph = merge(place, rule, gamma)
                if graph.edges not in known:
                    known[graph.edges], exact = _score(graph, example.graph, ged_seconds)
                    cut += not exact
                rows[rule][number].append(known[graph.edges])
    points = {rule: tuple(_mean(found) for found in by_gamma) for rule, by_gamma in rows.items()}
    return Sweep(tuple(gammas), points, len(examples), cut)


def _score(graph: EvidenceGraph, gold: EvidenceGraph, ged_seconds: float | None) -> tuple[Point, bool]:
    distance = graph_edit_distance(graph, gold, time_limit=ged_seconds)
    gm, f1 = float(graph_match(graph, gold)), evidence_set(graph, gold).f1
    gs = float(graph_structure_match(graph, gold))
    return {"gm": gm, "gs": gs, "f1": f1, "ged": float(distance.upper), "score": (gm + f1) / 2}, distance.exact


def _mean(points: Sequence[Point]) -> Point:
    return {metric: fmean(point[metric] for point in points) for metric in points[0]}


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
    if not rules or not all(rule in RULES for rule in rules):
        raise DataError(f"{file}: rules are {shown(sorted(rules))}, allowed: some of {', '.join(RULES)}")
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
