"""Every reconstruction rule at every γ on one run of both directions (paper, Figure 5); reading a finished sweep."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import Annotated, Any

from pydantic import AfterValidator, ConfigDict, Field, FiniteFloat, with_config
from tqdm import tqdm
from typing_extensions import TypedDict

from bgr.data.example import Example
from bgr.errors import BgrError, DataError
from bgr.graph.evidence_graph import EvidenceGraph
from bgr.metrics.evidence_set import evidence_set
from bgr.metrics.ged import graph_edit_distance
from bgr.metrics.gm_gs import graph_match, graph_structure_match
from bgr.retrievers.graph_hop.reconstruction import GAMMAS, RULES
from bgr.utils.atomic_io import read_json
from bgr.utils.settings import one_of, problems

SINGLE = ("forward", "backward")
"""Rules that do not depend on γ."""

Point = dict[str, float]
"""Means at one γ: ``gm``, ``gs``, ``f1`` and their ``score`` (mean of GM and F1) in 0 … 1, ``ged`` in edits."""


@dataclass(frozen=True)
class Sweep:
    """Means over `n` questions: for each rule a point for each of `gammas`. `ged_not_exact` is the number of different
    graphs whose edit distance ran out of time; they count with the best edit found."""

    gammas: tuple[float, ...]
    points: Mapping[str, tuple[Point, ...]]
    n: int
    ged_not_exact: int = 0

    def best(self, rule: str) -> tuple[float, Point]:
        """The γ with the greatest score (the smallest of equal ones), and its point."""
        place = max(range(len(self.gammas)), key=lambda i: (self.points[rule][i]["score"], -i))
        return self.gammas[place], self.points[rule][place]

    def to_json(self, about: Mapping[str, Any]) -> dict[str, Any]:
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
    """Score every rule at every γ (ascending, in [0, 1]); `merge` makes the graph from the number of an example, a rule
    and γ. `ged_seconds` limits one edit distance, ``None`` for no limit.

    Raises:
        DataError: there are no examples.
        BgrError: there are no rules or no γ, or a γ is out of range.
    """
    if not examples:
        raise DataError("there are no examples to score")
    if not rules or not gammas or not all(0 <= gamma <= 1 for gamma in gammas):
        raise BgrError(f"nothing to sweep: rules {list(rules)}, gammas {list(gammas)}, allowed: 0 to 1")
    rows: dict[str, list[list[Point]]] = {rule: [[] for _ in gammas] for rule in rules}
    cut = 0
    for place, example in enumerate(tqdm(examples, desc="sweep", disable=not progress, delay=2, unit="question")):
        known: dict[frozenset[tuple[int, int]], Point] = {}  # most γ give a graph that another γ gave
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
    points = {
        rule: tuple({metric: fmean(point[metric] for point in found) for metric in found[0]} for found in by_gamma)
        for rule, by_gamma in rows.items()
    }
    return Sweep(tuple(gammas), points, len(examples), cut)


def _score(graph: EvidenceGraph, gold: EvidenceGraph, ged_seconds: float | None) -> tuple[Point, bool]:
    distance = graph_edit_distance(graph, gold, time_limit=ged_seconds)
    gm, f1 = float(graph_match(graph, gold)), evidence_set(graph, gold).f1
    gs = float(graph_structure_match(graph, gold))
    return {"gm": gm, "gs": gs, "f1": f1, "ged": float(distance.upper), "score": (gm + f1) / 2}, distance.exact


class _Point(TypedDict):
    gm: FiniteFloat
    gs: FiniteFloat
    f1: FiniteFloat
    ged: FiniteFloat


class _Best(TypedDict):
    gamma: float


@with_config(ConfigDict(strict=True))
class _SweepFile(TypedDict):
    about: dict[str, Any]
    gammas: Annotated[list[Annotated[float, Field(ge=0, le=1)]], Field(min_length=1)]
    rules: Annotated[dict[Annotated[str, AfterValidator(one_of(RULES))], list[_Point]], Field(min_length=1)]
    best: dict[str, _Best]


def read_sweep(path: Path) -> dict[str, Any]:
    """Read ``sweep.json``, the file or its folder: ``about``, ``n``, ``gammas``, ``rules`` and ``best``.

    Raises:
        DataError: the file is missing or is not a sweep.
    """
    file = path / "sweep.json" if path.is_dir() else path
    content: dict[str, Any] = read_json(file)
    if found := problems(_SweepFile, content):
        raise DataError(f"{file}: not a sweep of bgr evaluate: {'; '.join(found)}")
    for rule, points in content["rules"].items():
        if len(points) != len(content["gammas"]):
            raise DataError(f"{file}: rule {rule}: {len(points)} points, allowed: one for each γ")
        if content["best"].get(rule, {}).get("gamma") not in content["gammas"]:
            raise DataError(f"{file}: rule {rule}: the best γ is not among the sweep's")
    return content
