"""Settings of baselines that are chosen on dev: the number of facts of single-hop ones, the margin of multi-hop ones.

BM25 and the random baseline have no weights, so this choice is all their training.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml
from jsonargparse import ArgumentParser
from jsonargparse.typing import NonNegativeInt
from tqdm import tqdm

from bgr.data.example import Example
from bgr.data.reasongraphqa.io.dataset import dataset_hash, load_split
from bgr.errors import BgrError, DataError
from bgr.retrievers.base import Query
from bgr.retrievers.baselines.baseline_config import BaselineSettings
from bgr.retrievers.baselines.beam import AllPaths, Keep, NearBest, Search, TopFacts
from bgr.retrievers.baselines.trained import result_of, untrained
from training.lightning_cli import one_line_errors
from training.retriever.calibrate import dev_metrics
from training.run import Run

MARGINS = (0.0, 0.05, 0.1, 0.2, 0.35, 0.5, 0.7, 1.0, 1.4, 2.0, 2.8, 4.0)
MAX_K = 12
"""Largest k to try."""


def choices(kind: str) -> list[Keep]:
    """The options for a baseline."""
    if kind == "ssg":
        return [AllPaths()]
    if kind in ("grr", "mdr"):
        return [NearBest(margin) for margin in MARGINS]
    return [TopFacts(k) for k in range(1, MAX_K + 1)]


def best_keep(
    found: Sequence[Search], examples: Sequence[Example], kept: Sequence[Keep]
) -> tuple[Keep, dict[str, float]]:
    """The option with the best dev score (the first of ties) and its dev metrics.

    Raises:
        DataError: there are no examples.
    """
    if not examples:
        raise DataError("the split 'dev' is empty; k and margin are chosen on it")
    rows = [metrics_of(found, examples, keep) for keep in kept]
    best = max(range(len(rows)), key=lambda number: (rows[number]["score"], -number))
    return kept[best], rows[best]


def metrics_of(found: Sequence[Search], examples: Sequence[Example], keep: Keep) -> dict[str, float]:
    """Dev metrics of one option."""
    graphs = [
        result_of(one, Query(e.question, e.facts, len(e.graph.nodes)), keep).graph
        for one, e in zip(found, examples, strict=True)
    ]
    return dev_metrics(graphs, examples)


@dataclass(frozen=True)
class Untrained:
    """Settings of a baseline without weights.

    Args:
        kind: ``bm25`` or ``random``.
        seed_everything: random seed of ``random``.
        dev_limit: number of dev questions; 0 for all.
    """

    kind: str
    seed_everything: NonNegativeInt = 0
    dev_limit: NonNegativeInt = 0

    def __post_init__(self) -> None:
        if self.kind not in ("bm25", "random"):
            raise ValueError(
                f"kind is {self.kind!r}, allowed: bm25, random; trained baselines have it in the section `model`"
            )


def is_untrained(config: Path) -> bool:
    """Return true if a config is for a baseline without weights, that is, has ``kind`` at the top level."""
    try:
        record = yaml.safe_load(config.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        raise BgrError(f"{config}: cannot be read: {error}") from None
    return isinstance(record, dict) and "kind" in record


def read_untrained(run: Run) -> Untrained:
    """The settings of the config, overridden by those of the command line.

    Raises:
        BgrError: a key is unknown or a value is not allowed.
    """
    with one_line_errors(run.config):
        parser = ArgumentParser(exit_on_error=False)
        parser.add_argument("--config", action="config")
        parser.add_class_arguments(Untrained)
        found = parser.parse_args([f"--config={run.config}", *run.overrides])
        return Untrained(found.kind, found.seed_everything, found.dev_limit)


def choose_k(run: Run, about: Untrained) -> dict[str, Any]:
    """Try every k up to `MAX_K` on dev and write the folder with the best by dev score (the smallest of ties).

    Returns:
        The dev metrics, and those with k = number of gold facts.
    """
    examples = load_split(run.data, "dev")[: about.dev_limit or None]
    if not examples:
        raise DataError(f"{run.data}: the split 'dev' is empty; k is chosen on it")
    queries = [Query(e.question, e.facts, len(e.graph.nodes)) for e in examples]

    def score(k: int | None) -> dict[str, float]:
        retriever = untrained(about.kind, k, about.seed_everything)
        return dev_metrics([result.graph for result in retriever.retrieve(queries)], examples)

    rows = {k: score(k) for k in tqdm(range(1, MAX_K + 1), desc=about.kind, unit="k")}
    best = max(rows, key=lambda k: (rows[k]["score"], -k))
    metrics = {**rows[best], **{f"{name}_gold_k": value for name, value in score(None).items()}}
    settings = BaselineSettings(
        about.kind,
        k=best,
        seed=about.seed_everything,
        data_hash=dataset_hash(run.data),
        metrics={"dev": metrics},
    )
    settings.save(run.out)
    return metrics
