"""Lightning module of one direction of the retriever."""

from __future__ import annotations

from typing import Any

from torch import Tensor

from bgr.models.config import BgrConfig
from bgr.models.retriever import BgrRetriever, EncodedBatch
from bgr.retrievers.graph_hop.decode import decode
from training.base_module import RetrievalModule
from training.data_module import TrainingBatch
from training.retriever.loss import gold_levels, gold_logits, gold_relevance, multi_label_loss


class BgrModule(RetrievalModule):
    """Lightning module of one direction of BGR.

    Args:
        encoder: hub id or folder of a BERT, or ``packaged-minilm`` for the one from the package index.
        direction: ``forward`` or ``backward``.
        width: width of path states and matching; 0 for the encoder's width.
        context_layers: layers of joint encoding of a question and all its candidates.
        rows: summary rows of a fact in the matcher.
        dropout: dropout probability of path update and matcher.
        settings: those of `RetrievalModule`.
    """

    model: BgrRetriever

    def __init__(
        self,
        encoder: str,
        direction: str = "forward",
        width: int = 0,
        context_layers: int = 0,
        rows: int = 4,
        dropout: float = 0.1,
        **settings: Any,
    ) -> None:
        super().__init__(encoder, **settings)
        self.use(BgrRetriever, BgrConfig)

    def loss(self, batch: TrainingBatch) -> Tensor:
        return self._loss(batch, self._encode(batch))

    def _encode(self, batch: TrainingBatch) -> EncodedBatch:
        parts = batch.batch
        return self.model.encode_batch(parts.questions, parts.facts, parts.candidates)

    def _loss(self, batch: TrainingBatch, encoded: EncodedBatch) -> Tensor:
        levels = gold_levels(batch.graphs, self.model.config.direction, columns=encoded.columns.shape[1])
        steps = gold_logits(self.model, encoded, [level.to(self.device) for level in levels])
        # the complete gold set is direct supervision for the context layers
        return (multi_label_loss(*steps) + multi_label_loss(*gold_relevance(encoded, batch.graphs))) / 2

    def validation_step(self, batch: TrainingBatch, _: int) -> None:
        encoded = self._encode(batch)
        self.log("dev/loss", self._loss(batch, encoded), batch_size=len(batch.examples))
        for example, result in zip(batch.examples, decode(self.model, encoded), strict=True):
            self.note_dev(result.graph, example)
