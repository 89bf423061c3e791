"""Pruning and decoding of one direction: any number of candidates in, a result over all of them out."""

from __future__ import annotations

from dataclasses import replace

import torch
from torch import Tensor

from bgr.models.batching import Batch
from bgr.models.pruner import best_columns
from bgr.models.retriever import BgrRetriever
from bgr.retrievers.graph_hop.decode import decode
from bgr.retrievers.graph_hop.likelihood import DirectionResult

LIMIT = "candidates"
"""Name of the limit of a question that has more candidates than are read."""


@torch.inference_mode()
def kept_columns(model: BgrRetriever, batch: Batch) -> Tensor | None:
    """The candidates of each question that the model reads: ``[q, k]`` indices padded with −1, ``None`` for all."""
    most = model.config.prune
    if not most or batch.candidates.shape[1] <= most:
        return None
    return best_columns(model.prune(batch.questions, batch.facts, batch.candidates)[-1], most)


@torch.inference_mode()
def read(
    model: BgrRetriever, batch: Batch, *, threshold: float | None = None, explore: float = 0.0
) -> list[DirectionResult]:
    """The results of a batch of questions; arguments as of `decode`."""
    columns = kept_columns(model, batch)
    kept = batch if columns is None else batch.keep(columns)
    encoded = model.encode_batch(kept.questions, kept.facts, kept.candidates)
    found = decode(model, encoded, threshold=threshold, explore=explore)
    if columns is None:
        return found
    numbers = [[column for column in row if column >= 0] for row in columns.tolist()]
    counts = (batch.candidates >= 0).sum(1).tolist()
    return [unpruned(*each) for each in zip(found, numbers, counts, strict=True)]


def unpruned(result: DirectionResult, kept: list[int], count: int) -> DirectionResult:
    """The result over all `count` candidates of a question, of one over those that were kept."""
    if len(kept) == count:
        return result
    return replace(result.relabel(kept), limits=tuple(sorted({*result.limits, LIMIT})))
