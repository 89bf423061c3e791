"""What dev chooses for a baseline: how many facts a single-hop one takes, how many paths a multi-hop one keeps."""

from __future__ import annotations

from collections.abc import Sequence

from bgr.baselines.beam import Search
from bgr.baselines.keep import AllPaths, Keep, NearBest, TopFacts
from bgr.baselines.trained import result_of
from bgr.errors import DataError
from bgr.example import Example
from bgr.retrieval import Query
from training.calibrate import dev_metrics

MARGINS = (0.0, 0.05, 0.1, 0.2, 0.35, 0.5, 0.7, 1.0, 1.4, 2.0, 2.8, 4.0)
MOST = 12
"""Largest k that is tried."""


def choices(kind: str) -> list[Keep]:
    """What there is to choose from for a baseline."""
    if kind == "ssg":
        return [AllPaths()]
    if kind in ("grr", "mdr"):
        return [NearBest(margin) for margin in MARGINS]
    return [TopFacts(k) for k in range(1, MOST + 1)]


def best_keep(
    found: Sequence[Search], examples: Sequence[Example], kept: Sequence[Keep]
) -> tuple[Keep, dict[str, float]]:
    """The choice with the best dev score, of equal ones the first, and its dev metrics.

    Raises:
        DataError: there are no examples.
    """
    if not examples:
        raise DataError("the split 'dev' is empty; k and margin are chosen on it")
    rows = [metrics_of(found, examples, keep) for keep in kept]
    best = max(range(len(rows)), key=lambda number: (rows[number]["score"], -number))
    return kept[best], rows[best]


def metrics_of(found: Sequence[Search], examples: Sequence[Example], keep: Keep) -> dict[str, float]:
    """Dev metrics of what is kept."""
    graphs = [
        result_of(one, Query(e.question, e.facts, len(e.graph.nodes)), keep).graph
        for one, e in zip(found, examples, strict=True)
    ]
    return dev_metrics(graphs, examples)
