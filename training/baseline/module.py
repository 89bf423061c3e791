"""Lightning module of the trained baselines."""

from __future__ import annotations

import torch
from torch import Tensor
from transformers import AutoConfig

from bgr.models.packaged import resolve_model
from bgr.retrievers.base import Query
from bgr.retrievers.baselines.baseline_config import TRAINED, BaselineConfig
from bgr.retrievers.baselines.beam import AllPaths, Keep, NearBest, TopFacts
from bgr.retrievers.baselines.model import BaselineModel
from bgr.retrievers.baselines.trained import MODELS, result_of
from training.base_module import RetrievalModule
from training.baseline.losses import baseline_loss
from training.data_module import TrainingBatch

KEEP: dict[str, Keep] = {"dpr": TopFacts(), "grr": NearBest(1.0), "mdr": NearBest(1.0), "ssg": AllPaths()}
"""Selection for the dev score of an epoch; the final selection is chosen on dev at the end."""


class BaselineModule(RetrievalModule):
    """Lightning module of a trained baseline.

    Args:
        encoder: hub id or folder of a BERT, or ``packaged-minilm`` for the one from the package index.
        kind: ``dpr``, ``grr``, ``mdr`` or ``ssg``.
        pretrained: start from the encoder's weights; false for random weights (tests, benchmarks).
        frozen_layers: number of encoder layers that are not trained; their states are computed once and cached.
        width: width of all vectors; 0 for the encoder's width.
        layers: transformer layers over each sentence alone, after the encoder.
        context_layers: layers over the texts of a path (``mdr``) or over the candidates of a question (``ssg``).
        rows: summary rows for the vector of a sentence.
        dropout: dropout probability.
        question_tokens, fact_tokens: maximum length of questions and facts in tokens.
        beam: beam width, in paths per question (``grr``, ``mdr``).
        learning_rate: learning rate outside the encoder.
        matrix_learning_rate: learning rate of Muon for the matrices outside the encoder; 0 for AdamW.
        encoder_learning_rate: learning rate of the trained encoder layers.
        weight_decay: weight decay.
        warmup: share of the steps in which the learning rate rises; afterwards it falls linearly to 0.
    """

    model: BaselineModel

    def __init__(
        self,
        encoder: str,
        kind: str,
        pretrained: bool = True,
        frozen_layers: int = 0,
        width: int = 0,
        layers: int = 1,
        context_layers: int = 1,
        rows: int = 4,
        dropout: float = 0.0,
        question_tokens: int = 64,
        fact_tokens: int = 64,
        beam: int = 4,
        learning_rate: float = 1e-5,
        matrix_learning_rate: float = 0.0,
        encoder_learning_rate: float = 1e-5,
        weight_decay: float = 0.01,
        warmup: float = 0.1,
    ) -> None:
        super().__init__()
        self.save_hyperparameters()
        if kind not in MODELS:
            raise ValueError(f"model.kind is {kind!r}, allowed: {', '.join(TRAINED)}")
        source = resolve_model(encoder)
        config = BaselineConfig(
            encoder=AutoConfig.from_pretrained(source),
            kind=kind,
            frozen_layers=frozen_layers,
            width=width,
            layers=layers,
            context_layers=context_layers,
            rows=rows,
            dropout=dropout,
            question_tokens=question_tokens,
            fact_tokens=fact_tokens,
            beam=beam,
        )
        self.use(MODELS[kind](config), source, pretrained=pretrained)

    def loss(self, batch: TrainingBatch) -> Tensor:
        return baseline_loss(self.model, batch)

    @torch.no_grad()
    def validation_step(self, batch: TrainingBatch, _: int) -> None:
        self.log("dev/loss", self.loss(batch), batch_size=len(batch.examples))
        keep = KEEP[self.model.config.kind]
        for example, found in zip(batch.examples, self.model.search(batch.batch), strict=True):
            query = Query(example.question, example.facts, len(example.graph.nodes))
            self.note_dev(result_of(found, query, keep).graph, example)
