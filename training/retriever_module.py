"""Training of one direction with Lightning."""

from __future__ import annotations

from typing import Any

import torch
from lightning.pytorch import LightningModule
from lightning.pytorch.utilities.types import OptimizerLRScheduler
from torch import Tensor
from torch.nn import Parameter
from torch.optim import AdamW, Optimizer
from transformers import AutoConfig, BertModel, get_linear_schedule_with_warmup

from bgr.metrics.evidence_set import evidence_set
from bgr.metrics.gm import graph_match
from bgr.metrics.gs import graph_structure_match
from bgr.models.config import BgrConfig
from bgr.models.decode import decode
from bgr.models.retriever import BgrRetriever, Reading
from bgr.models.source import resolve_model
from training.data_module import TrainingBatch
from training.gold_paths import gold_levels
from training.loss import gold_logits, gold_relevance, multi_label_loss
from training.optimizer import MuonWithAdamW, is_matrix


class BgrModule(LightningModule):
    """One direction of BGR with its optimiser.

    Args:
        encoder: hub id or folder of a BERT, or ``packaged-minilm`` for the one from the package index.
        direction: ``forward`` or ``backward``.
        pretrained: start from the encoder's weights; false for a random start (tests, speed).
        frozen_layers: encoder layers left as they are; their states are computed once and kept.
        width: of path states and matching; 0 for the encoder's own.
        context_layers: layers over a question and all its candidates together.
        rows: summary rows of a fact in the matcher.
        dropout: of path update and matcher.
        question_tokens, fact_tokens: longest question and fact in tokens.
        learning_rate: of all but the encoder.
        matrix_learning_rate: of the matrices outside the encoder, moved by Muon; 0 leaves them to AdamW (the paper's).
        encoder_learning_rate: of the trained encoder layers.
        weight_decay: of AdamW.
        warmup: share of the steps in which the learning rate rises; it then falls linearly to 0.
    """

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
        self.model = BgrRetriever(config)
        if pretrained:
            bert = BertModel.from_pretrained(source, add_pooling_layer=False)
            self.model.encoder.bert.load_state_dict(bert.state_dict())
        self.seed = 0
        self.dev: list[tuple[float, float, float]] = []

    def on_fit_start(self) -> None:
        self.seed = torch.initial_seed()

    def on_train_batch_start(self, batch: TrainingBatch, batch_idx: int) -> None:
        # a batch's dropout depends on the seed, the batch's number and the process, so a resumed run repeats it exactly
        number = self.trainer.current_epoch * int(self.trainer.num_training_batches) + batch_idx
        number = number * self.trainer.world_size + self.trainer.global_rank
        torch.manual_seed((self.seed * 1_000_003 + number) % (1 << 63))

    def training_step(self, batch: TrainingBatch, _: int) -> Tensor:
        loss = self._loss(batch, self._read(batch))
        self.log("train/loss", loss, prog_bar=True, batch_size=len(batch.examples))
        # other than 1 where an epoch's last batch is not a whole one
        return loss * batch.weight

    def _read(self, batch: TrainingBatch) -> Reading:
        parts = batch.batch
        return self.model.read(parts.questions, parts.facts, parts.candidates)

    def _loss(self, batch: TrainingBatch, reading: Reading) -> Tensor:
        graphs = [e.graph for e in batch.examples]
        levels = gold_levels(graphs, self.model.config.direction, columns=reading.columns.shape[1])
        steps = gold_logits(self.model, reading, [level.to(self.device) for level in levels])
        # the whole gold set at once: a direct lesson for what reads all candidates together
        return (multi_label_loss(*steps) + multi_label_loss(*gold_relevance(reading, graphs))) / 2

    def validation_step(self, batch: TrainingBatch, _: int) -> None:
        reading = self._read(batch)
        self.log("dev/loss", self._loss(batch, reading), batch_size=len(batch.examples))
        results = decode(self.model, reading)
        for example, result in zip(batch.examples, results, strict=True):
            self.dev.append(
                (
                    float(graph_match(result.graph, example.graph)),
                    float(graph_structure_match(result.graph, example.graph)),
                    evidence_set(result.graph, example.graph).f1,
                )
            )

    def on_validation_epoch_end(self) -> None:
        gm, gs, f1 = torch.tensor(self.dev).mean(0).tolist()
        self.dev.clear()
        # the dev score weighs the whole graph and the evidence set alike: GM alone is coarse on a small dev set
        self.log_dict({"dev/gm": gm, "dev/gs": gs, "dev/f1": f1, "dev/score": (gm + f1) / 2}, prog_bar=True)

    def configure_optimizers(self) -> OptimizerLRScheduler:
        encoder = [p for p in self.model.encoder.parameters() if p.requires_grad]
        known = {id(p) for p in self.model.encoder.parameters()}
        head = [p for p in self.model.parameters() if id(p) not in known]
        matrices = [p for p in head if is_matrix(p)] if self.hparams["matrix_learning_rate"] else []
        moved = {id(p) for p in matrices}
        groups = [
            {"params": encoder, "lr": self.hparams["encoder_learning_rate"]},
            {"params": [p for p in head if id(p) not in moved], "lr": self.hparams["learning_rate"]},
        ]
        optimizer = self._optimizer(matrices, [g for g in groups if g["params"]])
        self.rates = [group["lr"] for group in optimizer.param_groups]
        # optimiser steps: of several batches whose gradients are accumulated, one
        steps = int(self.trainer.estimated_stepping_batches)
        schedule = get_linear_schedule_with_warmup(optimizer, round(self.hparams["warmup"] * steps), steps)
        return {"optimizer": optimizer, "lr_scheduler": {"scheduler": schedule, "interval": "step"}}

    def _optimizer(self, matrices: list[Parameter], groups: list[dict[str, Any]]) -> Optimizer:
        decay = self.hparams["weight_decay"]
        if not matrices:
            return AdamW(groups, weight_decay=decay)
        rate = self.hparams["matrix_learning_rate"]
        return MuonWithAdamW(matrices, groups, learning_rate=rate, weight_decay=decay)

    def on_train_start(self) -> None:
        """The learning rates are the config's, also where the run began with others: what one whose training diverged
        wants to change."""
        for group, rate in zip(self.trainer.optimizers[0].param_groups, self.rates, strict=True):
            if group["initial_lr"] != rate:
                group["lr"] *= rate / group["initial_lr"]
                group["initial_lr"] = rate
        self.trainer.lr_scheduler_configs[0].scheduler.base_lrs = self.rates
