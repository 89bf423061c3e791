"""Lightning module of the trained baselines."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

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
        width: width of all vectors; 0 for the encoder's width.
        layers: transformer layers over each sentence alone, after the encoder.
        context_layers: layers over the texts of a path (``mdr``) or over the candidates of a question (``ssg``).
        rows: summary rows for the vector of a sentence.
        dropout: dropout probability.
        beam: beam width, in paths per question (``grr``, ``mdr``).
        settings: those of `RetrievalModule`.
    """

    model: BaselineModel

    def __init__(
        self,
        encoder: str,
        kind: str,
        width: int = 0,
        layers: int = 1,
        context_layers: int = 1,
        rows: int = 4,
        dropout: float = 0.0,
        beam: int = 4,
        **settings: Any,
    ) -> None:
        super().__init__(encoder, **settings)
        if kind not in MODELS:
            raise ValueError(f"model.kind is {kind!r}, allowed: {', '.join(TRAINED)}")
        self.use(MODELS[kind], BaselineConfig)

    def loss(self, batch: TrainingBatch) -> Tensor:
        return baseline_loss(self.model, batch)

    @torch.no_grad()
    def validation_step(self, batch: TrainingBatch, _: int) -> None:
        self.log("dev/loss", self.loss(batch), batch_size=len(batch.examples))
        keep = KEEP[self.model.config.kind]
        for example, found in zip(batch.examples, self.model.search(batch.batch), strict=True):
            query = Query(example.question, example.facts, len(example.graph.nodes))
            self.note_dev(result_of(found, query, keep).graph, example)
