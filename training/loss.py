"""The training loss over all pairs of a gold path and a candidate."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields

import torch
import torch.nn.functional as F
from torch import Tensor

from bgr.graph import EvidenceGraph
from bgr.models.retriever import BgrRetriever, Paths, Reading
from training.gold_paths import GoldLevel


def gold_logits(model: BgrRetriever, reading: Reading, levels: Sequence[GoldLevel]) -> tuple[Tensor, Tensor]:
    """Logits and targets of every pair, paths that end among them: two tensors ``[n]``, n = all open pairs."""
    paths = model.start(reading)
    every = [paths]
    for level in levels[1:]:
        paths = model.extend(reading, paths, level.parents, level.columns)
        every.append(paths)
    # one call for all levels
    together = Paths(*(torch.cat([getattr(part, f.name) for part in every]) for f in fields(Paths)))
    targets = torch.cat([level.targets for level in levels])
    return model.match(reading, together)[together.open], targets[together.open].float()


def gold_relevance(reading: Reading, graphs: Sequence[EvidenceGraph]) -> Tensor:
    """1 for a candidate that is in its question's gold graph, 0 for the others. *Shape:* ``[f]``."""
    targets = torch.zeros_like(reading.relevance, dtype=torch.float32)
    for row, graph in enumerate(graphs):
        places = torch.tensor(graph.nodes, device=targets.device, dtype=torch.long)
        targets[reading.columns[row, places + 1]] = 1.0
    return targets


def balanced_cross_entropy(logits: Tensor, targets: Tensor, *, positive_weight: float) -> Tensor:
    """Binary cross-entropy in which a positive pair counts `positive_weight` times; mean over pairs.

    Positives are few (about one in twenty), so an unweighted loss is low long before they are found.
    """
    weight = torch.as_tensor(positive_weight, device=logits.device)
    return F.binary_cross_entropy_with_logits(logits, targets, pos_weight=weight)
