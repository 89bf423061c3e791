"""Lightning module of one direction of the retriever. In training it sees the candidates that the pruner would let
through, and all gold facts.
"""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from bgr.graph.evidence_graph import ROOT, EvidenceGraph
from bgr.models.batching import Batch
from bgr.models.config import BgrConfig
from bgr.models.pruner import best_columns
from bgr.models.retriever import BgrRetriever, EncodedBatch
from bgr.retrievers.graph_hop.checkpoint import load_ranker, load_retriever
from bgr.retrievers.graph_hop.decode import decode, kept_columns
from training.base_module import RetrievalModule
from training.data_module import TrainingBatch
from training.retriever.loss import LOSSES, completeness_loss, gold_levels, gold_logits, gold_relevance, pruner_loss

COMPLETENESS_WEIGHT = 0.4
PRUNER_WEIGHT = 0.2
"""Weights of the losses of the two side tasks; that of the graph is 1."""


class BgrModule(RetrievalModule):
    """Lightning module of one direction of BGR.

    Args:
        encoder: hub id or folder of a BERT, or ``packaged-minilm`` for the one from the package index.
        direction: ``forward`` or ``backward``.
        width, words, rows, links, numbers, context_layers, relevance, completeness, prune, dropout: as in `BgrConfig`,
            whose defaults are the paper's model.
        init: checkpoint of a retriever to start from; the settings above must be its own. Empty for new weights. If it
            has a ranker, its pruner stays as it is, since the ranker was trained on the pruner's scores.
        loss: ``bce``, binary cross-entropy of every candidate (the paper), or ``zlpr`` (`multi_label_loss`).
        settings: those of `RetrievalModule`.
    """

    model: BgrRetriever

    def __init__(
        self,
        encoder: str,
        direction: str = "forward",
        width: int = 0,
        words: bool = False,
        rows: int = 1,
        links: int = 0,
        numbers: bool = False,
        context_layers: int = 0,
        relevance: bool = False,
        completeness: bool = False,
        prune: int = 0,
        dropout: float = 0.1,
        loss: str = "bce",
        init: str = "",
        **settings: Any,
    ) -> None:
        if loss not in LOSSES:
            raise ValueError(f"loss is {loss!r}, allowed: {', '.join(LOSSES)}")
        super().__init__(encoder, **settings)
        self.use(BgrRetriever, BgrConfig)
        if init:
            self._start_from(Path(init))

    def _start_from(self, checkpoint: Path) -> None:
        """Take the weights of a trained model that differs in nothing but them."""
        own, trained = self.model.config, load_retriever(checkpoint, self.model.config.direction)
        for name in inspect.signature(BgrConfig).parameters:
            if name not in ("encoder", "threshold", "dropout", "kwargs"):
                ours, theirs = getattr(own, name), getattr(trained.config, name)
                if ours != theirs:
                    raise ValueError(f"{name} is {ours}, but {theirs} in {checkpoint}, which the training starts from")
        self.model.load_state_dict(trained.state_dict())
        self.beginning = {name: one.detach() for name, one in trained.named_parameters()}
        if load_ranker(checkpoint) is not None and self.model.pruner is not None:
            self.model.pruner.requires_grad_(False)

    def loss(self, batch: TrainingBatch) -> Tensor:
        parts, graphs = batch.batch, batch.graphs
        answerable = torch.tensor(batch.answerable, device=self.device)
        losses = []
        if self.model.config.prune:
            scores = self.model.prune(parts.questions, parts.facts, parts.candidates)
            if scores.requires_grad:
                losses.append(PRUNER_WEIGHT * pruner_loss(scores, graphs, answerable))
            columns = hard_columns(scores[-1].detach(), graphs, batch.most or self.model.config.prune)
            parts = parts.keep(columns)
            graphs = [in_columns(graph, row) for graph, row in zip(graphs, columns.tolist(), strict=True)]
        return sum(losses, self._loss(self._encode(parts), graphs, answerable))

    def _encode(self, batch: Batch) -> EncodedBatch:
        return self.model.encode_batch(batch.questions, batch.facts, batch.candidates)

    def _loss(self, encoded: EncodedBatch, graphs: Sequence[EvidenceGraph], answerable: Tensor) -> Tensor:
        label_loss = LOSSES[self.hparams["loss"]]
        levels = gold_levels(graphs, self.model.config.direction, columns=encoded.columns.shape[1])
        logits, targets, owner = gold_logits(self.model, encoded, [level.to(self.device) for level in levels])
        # where a fact is missing, those that are there are not wrong; only that it is missing can be learned
        loss = label_loss(logits, targets, owner, answerable[owner])
        if encoded.relevance is not None:
            # the complete gold set is direct supervision for the context layers
            logits, targets, owner = gold_relevance(encoded, graphs)
            loss = (loss + label_loss(logits, targets, owner, answerable[owner])) / 2
        if encoded.completeness is not None:
            loss = loss + COMPLETENESS_WEIGHT * completeness_loss(encoded.completeness, answerable)
        return loss

    def validation_step(self, batch: TrainingBatch, _: int) -> None:
        columns = kept_columns(self.model, batch.batch)
        parts = batch.batch if columns is None else batch.batch.keep(columns)
        encoded = self._encode(parts)
        kept = [list(range(len(e.facts))) for e in batch.examples] if columns is None else columns.tolist()
        graphs = [in_columns(graph, row, whole=False) for graph, row in zip(batch.graphs, kept, strict=True)]
        answerable = torch.tensor(batch.answerable, device=self.device)
        self.log("dev/loss", self._loss(encoded, graphs, answerable), batch_size=len(batch.examples))
        for example, row, result in zip(batch.examples, kept, decode(self.model, encoded), strict=True):
            if example.answerable:
                self.note_dev(result.graph.relabel(dict(enumerate(row))), example)


def hard_columns(scores: Tensor, graphs: Sequence[EvidenceGraph], most: int) -> Tensor:
    """All gold facts of each question, and others with the best scores, at most `most` together.

    *Shape:* ``scores [q, c]``, −inf where there is no candidate → ``[q, k]`` in the order of the candidates, padded
    with −1; ``k`` is `most`, or more if a graph has more facts.
    """
    if scores.shape[1] <= most:
        return best_columns(scores, scores.shape[1])
    scores = scores.clone()
    for row, graph in enumerate(graphs):
        scores[row, list(graph.nodes)] = torch.finfo(scores.dtype).max
    return best_columns(scores, max([most, *(len(graph.nodes) for graph in graphs)]))


def in_columns(graph: EvidenceGraph, columns: Sequence[int], *, whole: bool = True) -> EvidenceGraph:
    """The graph over the candidates `columns`, numbered by their place. Unless it must be `whole`, edges of other
    candidates, and what only they lead to, are dropped."""
    places = {ROOT: ROOT, **{column: place for place, column in enumerate(columns) if column >= 0}}
    edges = [(a, b) for a, b in graph.edges if whole or (a in places and b in places)]
    return EvidenceGraph.reachable((places[a], places[b]) for a, b in edges)
