"""Benchmark of the graph edit distance: against networkx, on pairs too large for networkx, and on predictions."""

from __future__ import annotations

import gc
import math
import random
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import fmean, median
from typing import TypeVar

import networkx as nx
from tqdm import tqdm

from bgr.errors import DataError
from bgr.graph.evidence_graph import EvidenceGraph
from bgr.metrics.ged import GedResult, graph_edit_distance
from bgr.metrics.gm_gs import graph_structure_match
from bgr.utils.json_utils import parse_json
from eval.bench.ged_result import Against, GedBench, Large, Scoring, networkx_distance, networkx_graph
from eval.bench.reference.random_graphs import Pair, everyday_pairs, large_pairs

T = TypeVar("T")
G = TypeVar("G")

LARGE = (12, 18, 24)
"""Sizes of the large pairs in facts; the paper's largest graph has 24."""

PASSES = 3
"""Number of runs of each pair, of which the fastest counts. A run goes over all pairs, so that no pair benefits from
its own data in the processor's cache."""

LONG = 0.05
"""Pairs that take networkx longer than these seconds run only once."""

COMPARED_FACTS = 10
"""Pairs of an evaluation with more facts on both sides together are not compared with networkx."""


def bench_ged(
    pairs: int = 2000,
    *,
    large: int = 20,
    seed: int = 0,
    time_limit: float = 1.0,
    predictions: str | Path | None = None,
    progress: bool = True,
) -> GedBench:
    """Run the benchmark.

    Args:
        pairs: number of random pairs of everyday size that are compared with networkx, unlabeled and labeled.
        large: number of random pairs of each size in `LARGE` and each kind.
        seed: random seed of the pairs.
        time_limit: time limit in seconds for each large pair and each pair of the predictions.
        predictions: ``predictions.jsonl`` of `bgr evaluate`, whose pairs are scored too.
        progress: show progress bars on standard error.

    Raises:
        DataError: the predictions cannot be read.
    """
    systems = read_predictions(predictions) if predictions else {}
    drawn = everyday_pairs(pairs, random.Random(seed))
    return GedBench(
        seed=seed,
        time_limit=time_limit,
        against=tuple(against_networkx(drawn, labeled, progress) for labeled in (False, True) if drawn),
        large=tuple(
            _large(facts, large, related, labeled, seed, time_limit, progress)
            for facts in LARGE
            for related in (True, False)
            for labeled in (False, True)
            if large
        ),
        scoring=tuple(_scoring(name, found, time_limit, progress) for name, found in systems.items()),
    )


def against_networkx(pairs: Sequence[Pair], labeled: bool, progress: bool = False) -> Against:
    """Compare both on the same pairs. Making the graphs is not timed; ours gets new graphs each time."""
    name = "labeled" if labeled else "unlabeled"
    theirs, networkx_each = _networkx(pairs, labeled, name, progress)
    ours, ours_each = _ours(pairs, lambda a, b: graph_edit_distance(a, b, labeled=labeled, time_limit=None))
    return Against(
        name=name,
        pairs=len(pairs),
        differing=_differing(pairs, theirs, ours, name),
        networkx_seconds=sum(networkx_each),
        ours_seconds=sum(ours_each),
        median_ratio=median(a / b for a, b in zip(networkx_each, ours_each, strict=True)),
    )


def read_predictions(path: str | Path) -> dict[str, list[Pair]]:
    """The pairs (predicted, gold) of each system in a ``predictions.jsonl``.

    Raises:
        DataError: it is not such a file.
    """
    systems: dict[str, list[Pair]] = {}
    try:
        lines = Path(path).read_text(encoding="utf-8").splitlines()
    except OSError as error:
        raise DataError(f"{path}: {error.strerror}") from error
    for number, line in enumerate(lines, start=1):
        record = parse_json(line, f"{path}, line {number}")
        try:
            gold = EvidenceGraph((a, b) for a, b in record["edges"])
            for name, prediction in record["predictions"].items():
                predicted = EvidenceGraph((a, b) for a, b, *_ in prediction["edges"])
                systems.setdefault(name, []).append((predicted, gold))
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise DataError(f"{path}, line {number}: not a line of predictions.jsonl of `bgr evaluate`") from error
    return systems


def _large(facts: int, count: int, related: bool, labeled: bool, seed: int, time_limit: float, progress: bool) -> Large:
    name = "with mistakes" if related else "unrelated"
    pairs = large_pairs(facts, count, random.Random(seed), related=related)
    results, seconds = _timed(
        pairs,
        lambda a, b: graph_edit_distance(a, b, labeled=labeled, time_limit=time_limit),
        f"{facts} facts, {name}" if progress else None,
    )
    gaps = [found.upper - found.lower for found in results if not found.exact]
    return Large(
        name=name,
        facts=facts,
        labeled=labeled,
        pairs=count,
        exact=count - len(gaps),
        median_seconds=median(seconds),
        max_seconds=max(seconds),
        mean_gap=fmean(gaps) if gaps else 0.0,
        max_gap=max(gaps, default=0),
        mean_upper=fmean(found.upper for found in results),
    )


def _scoring(system: str, pairs: Sequence[Pair], time_limit: float, progress: bool) -> Scoring:
    plain, plain_each = _ours(pairs, lambda a, b: graph_edit_distance(a, b, time_limit=time_limit))
    labeled, labeled_each = _ours(pairs, lambda a, b: graph_edit_distance(a, b, labeled=True, time_limit=time_limit))
    _, gs_each = _ours(pairs, graph_structure_match)
    small = [i for i, (a, b) in enumerate(pairs) if len(a.nodes) + len(b.nodes) <= COMPARED_FACTS]
    theirs, networkx_each = _networkx([pairs[i] for i in small], False, system, progress)
    return Scoring(
        system=system,
        pairs=len(pairs),
        ged_us=fmean(plain_each) * 1e6,
        ged_labelled_us=fmean(labeled_each) * 1e6,
        gs_us=fmean(gs_each) * 1e6,
        not_exact=sum(not found.exact for found in (*plain, *labeled)),
        compared=len(small),
        networkx_us=fmean(networkx_each) * 1e6,
        ours_compared_us=fmean(plain_each[i] for i in small) * 1e6,
        differing=_differing([pairs[i] for i in small], theirs, [plain[i] for i in small], system),
    )


def _differing(pairs: Sequence[Pair], theirs: Sequence[int], ours: Sequence[GedResult], name: str) -> tuple[str, ...]:
    return tuple(
        f"{name}, {a.to_json()} and {b.to_json()}: networkx {distance}, ours {found.lower} to {found.upper}"
        for (a, b), distance, found in zip(pairs, theirs, ours, strict=True)
        if not found.lower == found.upper == distance
    )


def _ours(pairs: Sequence[Pair], score: Callable[[EvidenceGraph, EvidenceGraph], T]) -> tuple[list[T], list[float]]:
    """Results and fastest times. Each pass uses new graphs, because a graph caches its properties."""
    results: list[T] = []
    fastest = [math.inf] * len(pairs)
    for _ in range(PASSES):
        fresh = [(EvidenceGraph(a.edges), EvidenceGraph(b.edges)) for a, b in pairs]
        results, seconds = _timed(fresh, score)
        fastest = [min(times) for times in zip(fastest, seconds, strict=True)]
    return results, fastest


def _networkx(pairs: Sequence[Pair], labeled: bool, name: str, progress: bool) -> tuple[list[int], list[float]]:
    """Results and fastest times; slow pairs run once."""
    made = [(networkx_graph(a), networkx_graph(b)) for a, b in pairs]

    def score(a: nx.DiGraph, b: nx.DiGraph) -> int:
        return networkx_distance(a, b, labeled=labeled)

    results, fastest = _timed(made, score, f"networkx, {name}" if progress else None)
    short = [i for i, seconds in enumerate(fastest) if seconds < LONG]
    for _ in range(PASSES - 1):
        _, again = _timed([made[i] for i in short], score, f"again, {name}" if progress else None)
        for i, seconds in zip(short, again, strict=True):
            fastest[i] = min(fastest[i], seconds)
    return results, fastest


def _timed(
    pairs: Sequence[tuple[G, G]], score: Callable[[G, G], T], bar: str | None = None
) -> tuple[list[T], list[float]]:
    """The result of each pair and its wall-clock seconds."""
    results, seconds = [], []
    gc.freeze()  # the collector does not walk through what was made before while the clock runs
    for a, b in tqdm(pairs, desc=bar, disable=bar is None, delay=2, unit="pair"):
        start = time.perf_counter()
        results.append(score(a, b))
        seconds.append(time.perf_counter() - start)
    gc.unfreeze()
    return results, seconds
