"""Lightning module of one direction of the retriever."""

from __future__ import annotations

from torch import Tensor
from transformers import AutoConfig

from bgr.models.config import BgrConfig
from bgr.models.packaged import resolve_model
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
        pretrained: start from the encoder's weights; false for random weights (tests, benchmarks).
        frozen_layers: number of encoder layers that are not trained; their states are computed once and cached.
        width: width of path states and matching; 0 for the encoder's width.
        context_layers: layers of joint encoding of a question and all its candidates.
        rows: summary rows of a fact in the matcher.
        dropout: dropout probability of path update and matcher.
        question_tokens, fact_tokens: maximum length of questions and facts in tokens.
        learning_rate: learning rate outside the encoder.
        matrix_learning_rate: learning rate of Muon for the matrices outside the encoder; 0 for AdamW (the paper).
        encoder_learning_rate: learning rate of the trained encoder layers.
        weight_decay: weight decay.
        warmup: share of the steps in which the learning rate rises; afterwards it falls linearly to 0.
    """

    model: BgrRetriever

    def __init__(
        self,
        encoder: str,
        direction: str = "forward",
        pretrained: bool = True,
        frozen_layers: int = 0,
        width: int = 0,
        context_layers: int = 0,
        rows: int = 4,
        dropout: float = 0.1,
        question_tokens: int = 64,
        fact_tokens: int = 64,
        learning_rate: float = 1e-5,
        matrix_learning_rate: float = 0.0,
        encoder_learning_rate: float = 1e-5,
        weight_decay: float = 0.01,
        warmup: float = 0.1,
    ) -> None:
        super().__init__()
        self.save_hyperparameters()
        source = resolve_model(encoder)
        config = BgrConfig(
            encoder=AutoConfig.from_pretrained(source),
            direction=direction,
            frozen_layers=frozen_layers,
            width=width,
            context_layers=context_layers,
            rows=rows,
            dropout=dropout,
            question_tokens=question_tokens,
            fact_tokens=fact_tokens,
        )
        self.use(BgrRetriever(config), source, pretrained=pretrained)

    def loss(self, batch: TrainingBatch) -> Tensor:
        return self._loss(batch, self._encode(batch))

    def _encode(self, batch: TrainingBatch) -> EncodedBatch:
        parts = batch.batch
        return self.model.encode_batch(parts.questions, parts.facts, parts.candidates)

    def _loss(self, batch: TrainingBatch, encoded: EncodedBatch) -> Tensor:
        graphs = [e.graph for e in batch.examples]
        levels = gold_levels(graphs, self.model.config.direction, columns=encoded.columns.shape[1])
        steps = gold_logits(self.model, encoded, [level.to(self.device) for level in levels])
        # the complete gold set is direct supervision for the context layers
        return (multi_label_loss(*steps) + multi_label_loss(*gold_relevance(encoded, graphs))) / 2

    def validation_step(self, batch: TrainingBatch, _: int) -> None:
        encoded = self._encode(batch)
        self.log("dev/loss", self._loss(batch, encoded), batch_size=len(batch.examples))
        results = decode(self.model, encoded)
        for example, result in zip(batch.examples, results, strict=True):
            self.note_dev(result.graph, example)
