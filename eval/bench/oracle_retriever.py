"""A retriever that does all its work and then goes where the gold graphs lead.

A model that is not trained would wander through paths that no trained one has; so it is timed on the paths of the gold.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from bgr.graph.evidence_graph import EvidenceGraph, next_nodes
from bgr.models.retriever import BgrRetriever, EncodedBatch, Paths

SURE = 8.0
"""Log-odds of a step that the gold has, and of minus one that it has not."""


class GoldWalk:
    """What `decode` needs of a model.

    Args:
        model: does the work.
        graphs: of the questions of the batch.

    Attributes:
        steps: parents and columns of every level beyond the first that was walked.
    """

    def __init__(self, model: BgrRetriever, graphs: Sequence[EvidenceGraph]) -> None:
        self.model = model
        self.config = model.config
        self.graphs = graphs
        self.steps: list[tuple[Tensor, Tensor]] = []

    def start(self, encoded: EncodedBatch) -> Paths:
        return self.model.start(encoded)

    def extend(self, encoded: EncodedBatch, paths: Paths, parents: Tensor, columns: Tensor) -> Paths:
        self.steps.append((parents, columns))
        return self.model.extend(encoded, paths, parents, columns)

    def match(self, encoded: EncodedBatch, paths: Paths) -> Tensor:
        """The model's logits, made to say what is next in the gold graphs."""
        logits = self.model.match(encoded, paths)
        gold = torch.full_like(logits, -SURE)
        first = encoded.columns[:, 1].tolist()
        for row, (question, last) in enumerate(zip(paths.question.tolist(), paths.last.tolist(), strict=True)):
            fact = None if last < 0 else last - first[question]
            gold[row, [node + 1 for node in next_nodes(self.graphs[question], fact, self.config.direction)]] = SURE
        return gold.masked_fill(logits.isneginf(), float("-inf"))
