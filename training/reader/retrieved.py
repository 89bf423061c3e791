"""Graphs that a trained retriever finds for the questions that a reader is trained on and calibrated with."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import torch

from bgr.data.example import Example
from bgr.errors import DataError
from bgr.graph.evidence_graph import EvidenceGraph
from bgr.pipeline import BgrPipeline
from bgr.retrievers.base import Query
from bgr.utils.atomic_io import new_file
from bgr.utils.progress import progress_bar
from training.search.own_pools import weights_hash

GROUP = 128


@dataclass(frozen=True)
class Retrieved:
    """What a retriever found for a question: the graph, and the probability that the evidence is complete."""

    graph: EvidenceGraph
    completeness: float | None


def retrieve(
    checkpoint: Path,
    examples: Sequence[Example],
    file: Path,
    *,
    device: str | torch.device | None = None,
    progress: bool = True,
) -> dict[str, Retrieved]:
    """Run a checkpoint over questions, and keep what it finds in `file`, whose name gets the hash of the checkpoint:
    there an interrupted training finds it again. No graph is refused, since a reader is to judge by itself. It runs on
    `device`, by default a GPU if there is one.

    Raises:
        BgrError: the checkpoint cannot be loaded, or the file is damaged.
    """
    file = file.with_stem(f"{file.stem}-{weights_hash(checkpoint)[:12]}")
    if file.exists():
        found = _read(file)
        if found.keys() == {example.id for example in examples}:
            return found
    pipeline = BgrPipeline.from_pretrained(checkpoint, device=device)
    pipeline.settings = replace(pipeline.settings, refusal=replace(pipeline.settings.refusal, threshold=0.0))
    found = {}
    with progress_bar(len(examples), "retrieved graphs", "question", show=progress) as bar:
        for start in range(0, len(examples), GROUP):
            group = examples[start : start + GROUP]
            queries = [Query(example.question, example.facts) for example in group]
            for example, result in zip(group, pipeline.retrieve(queries), strict=True):
                found[example.id] = Retrieved(result.graph, result.completeness)
            bar.update(len(group))
    with new_file(file, parents=True) as part:
        records = (
            {"id": name, "edges": sorted(one.graph.edges), "completeness": one.completeness}
            for name, one in found.items()
        )
        part.write_text("".join(json.dumps(record) + "\n" for record in records), encoding="utf-8")
    return found


def _read(file: Path) -> dict[str, Retrieved]:
    try:
        records: list[dict[str, Any]] = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]
        return {
            one["id"]: Retrieved(EvidenceGraph((a, b) for a, b in one["edges"]), one["completeness"]) for one in records
        }
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise DataError(f"{file}: not the graphs of a retriever: {error}") from None
