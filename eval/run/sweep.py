"""Every reconstruction rule at every γ on one run of both directions (paper, Figure 5)."""

from __future__ import annotations

import csv
import json
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
from bgr.retrievers.graph_hop.reconstruction import GAMMAS
from eval.report.plots import plot_sweep
from eval.report.tables import markdown_table, text_table

SINGLE = ("forward", "backward")
"""Rules that γ means nothing to."""
UNITS = "GM, GS and F1 in percent, GED in edits. Best γ: the greatest mean of GM and F1, of equal ones the smallest."

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


def best_table(result: Sweep, chosen: Mapping[str, float]) -> tuple[list[str], list[list[str]]]:
    """Header and one row for each rule: its best γ and what it gives, and the γ that the checkpoint uses."""
    rows = []
    for rule in result.points:
        gamma, point = result.best(rule)
        gammas = ["–", "–"] if rule in SINGLE else [f"{gamma:.2f}", f"{chosen[rule]:.2f}" if rule in chosen else "–"]
        cells = [f"{100 * point[metric]:.2f}" for metric in ("gm", "gs", "f1")]
        rows.append([rule, *gammas, *cells, f"{point['ged']:.2f}", str(result.n)])
    return ["rule", "best γ", "checkpoint's γ", "GM", "GS", "F1", "GED", "n"], rows


def notes(result: Sweep, split: str) -> list[str]:
    """What a reader of the table must know."""
    lines = [UNITS]
    if result.ged_not_exact:
        lines.append(f"GED ran out of time on {result.ged_not_exact} graphs, which count with the best edit found.")
    if split != "dev":
        lines.append(f"This is the split {split!r}: γ is chosen on dev; what is best here may only be looked at.")
    return lines


def as_text(result: Sweep, chosen: Mapping[str, float], split: str) -> str:
    return "\n".join([text_table(*best_table(result, chosen)), *notes(result, split)])


def as_json(result: Sweep, about: Mapping[str, Any]) -> dict[str, Any]:
    """All points; scores in 0 … 1."""
    best = {rule: result.best(rule) for rule in result.points}
    return {
        "about": dict(about),
        "n": result.n,
        "gammas": list(result.gammas),
        "rules": {rule: list(points) for rule, points in result.points.items()},
        "best": {rule: {"gamma": gamma, **point} for rule, (gamma, point) in best.items()},
        "ged_not_exact": result.ged_not_exact,
    }


def write_sweep(folder: Path, result: Sweep, chosen: Mapping[str, float], split: str, about: Mapping[str, Any]) -> None:
    """Write ``sweep.json``, ``sweep.csv``, ``sweep.md`` and ``sweep.png`` into an existing folder."""
    content = json.dumps(as_json(result, about), indent=2, ensure_ascii=False)
    (folder / "sweep.json").write_text(content + "\n", encoding="utf-8")
    (folder / "sweep.md").write_text(_as_markdown(result, chosen, split, about), encoding="utf-8")
    with (folder / "sweep.csv").open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, ["rule", "gamma", "gm", "gs", "f1", "ged", "score", "n"])
        writer.writeheader()
        for rule, points in result.points.items():
            for gamma, point in zip(result.gammas, points, strict=True):
                writer.writerow({"rule": rule, "gamma": gamma, **point, "n": result.n})
    best = {rule: result.best(rule)[0] for rule in result.points}
    plot_sweep(result.gammas, result.points, best, f"{split}, n = {result.n}", folder / "sweep.png")


def _as_markdown(result: Sweep, chosen: Mapping[str, float], split: str, about: Mapping[str, Any]) -> str:
    parts = ["# Sweep over γ", "\n".join(f"- {name}: {value}" for name, value in about.items())]
    parts += [markdown_table(*best_table(result, chosen)), *notes(result, split), "![sweep](sweep.png)"]
    for metric, title, scale in (("gm", "GM", 100), ("gs", "GS", 100), ("f1", "F1", 100), ("ged", "GED", 1)):
        rows = [
            [f"{gamma:.2f}", *(f"{scale * result.points[rule][place][metric]:.2f}" for rule in result.points)]
            for place, gamma in enumerate(result.gammas)
        ]
        parts += [f"## {title}", markdown_table(["γ", *result.points], rows)]
    return "\n\n".join(parts) + "\n"
