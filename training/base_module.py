"""Base Lightning module of all trained retrievers: encoder weights, seeds of steps, dev score, optimizer."""

from __future__ import annotations

import inspect
from abc import abstractmethod
from typing import Any

import torch
from lightning.pytorch import LightningModule
from lightning.pytorch.utilities.types import OptimizerLRScheduler
from torch import Tensor
from transformers import AutoConfig, BertModel, PretrainedConfig

from bgr.data.example import Example
from bgr.graph.evidence_graph import EvidenceGraph
from bgr.metrics.evidence_set import evidence_set
from bgr.metrics.gm_gs import graph_match, graph_structure_match
from bgr.models.packaged import resolve_model
from training.data_module import TrainingBatch
from training.optimizer import make_optimizer, with_schedule
from training.run import at_least, share


class RetrievalModule(LightningModule):
    """Base class of the modules of trained retrievers.

    A subclass calls `use` and implements `loss` and the validation step.

    Args:
        encoder: hub id or folder of a BERT, or ``packaged-minilm`` for the one from the package index.
        pretrained: start from the encoder's weights; false for random weights (tests, benchmarks).
        frozen_layers: number of encoder layers that are not trained; their states are computed once and cached.
        question_tokens, fact_tokens: maximum length of questions and facts in tokens.
        learning_rate: learning rate outside the encoder.
        matrix_learning_rate: learning rate of Muon for the matrices outside the encoder; 0 for AdamW (the paper).
        encoder_learning_rate: learning rate of the trained encoder layers.
        weight_decay: weight decay.
        warmup: share of the steps in which the learning rate rises; afterwards it falls linearly to 0.
        init_share: share of the weights that the training started from in the result, the mean of both (WiSE-FT,
            arXiv:2109.01903): what is trained further on the same kind of questions loses some of its sense for others.

    Raises:
        ValueError: a learning rate, the weight decay, the warm-up or the share is out of range, or there is a share and
            nothing to start from.
    """

    model: Any

    def __init__(
        self,
        encoder: str,
        pretrained: bool = True,
        frozen_layers: int = 0,
        question_tokens: int = 64,
        fact_tokens: int = 64,
        learning_rate: float = 1e-5,
        matrix_learning_rate: float = 0.0,
        encoder_learning_rate: float = 1e-5,
        weight_decay: float = 0.01,
        warmup: float = 0.1,
        init_share: float = 0.0,
    ) -> None:
        super().__init__()
        self.save_hyperparameters()  # including the arguments of the subclass
        share(init_share=init_share)
        if init_share and not self.hparams.get("init"):
            raise ValueError("init_share needs init, the checkpoint whose weights it keeps")
        self.beginning: dict[str, Tensor] = {}
        self.seed = 0
        self.dev: list[tuple[float, float, float]] = []

    def use(self, model: type[Any], config: type[PretrainedConfig]) -> None:
        """Make the model from the hyperparameters that its configuration has, with the weights of the encoder."""
        own = self.hparams
        source = resolve_model(own["encoder"])
        settings = {name: own[name] for name in inspect.signature(config).parameters if name in own}
        encoder = AutoConfig.from_pretrained(source)
        if encoder.model_type != "bert":
            # others number their positions differently, or have other layers
            raise ValueError(f"encoder {own['encoder']} is of type {encoder.model_type}, allowed: bert")
        settings["encoder"] = encoder
        made = config(**settings)
        rates = ("learning_rate", "matrix_learning_rate", "encoder_learning_rate", "weight_decay")
        self.model = model(made)
        at_least(0, **{name: own[name] for name in rates})
        share(warmup=own["warmup"])
        if own["pretrained"]:
            bert = BertModel.from_pretrained(source, add_pooling_layer=False)
            self.model.encoder.bert.load_state_dict(bert.state_dict())

    @torch.no_grad()
    def average(self) -> None:
        """Make the trained weights the mean of themselves and those of the `beginning`, by `init_share`. Rows that a
        tensor did not have then stay as they are. So does a frozen tensor: as a mean, a zero may change its sign, and
        with it the key of the cached states."""
        for name, weights in self.model.named_parameters():
            if name in self.beginning and self.hparams["init_share"] and weights.requires_grad:
                start = torch.atleast_1d(self.beginning[name]).to(weights)
                torch.atleast_1d(weights)[: len(start)].lerp_(start, self.hparams["init_share"])

    def frozen(self) -> dict[str, Tensor]:
        """The state of the frozen layers of a pretrained encoder, which training checkpoints leave out."""
        if not self.hparams["pretrained"]:
            return {}
        state = self.state_dict()
        return {name: state[name] for name in (f"model.encoder.{n}" for n in self.model.encoder.frozen_names())}

    def on_save_checkpoint(self, checkpoint: dict[str, Any]) -> None:
        for name in self.frozen():
            del checkpoint["state_dict"][name]

    def on_load_checkpoint(self, checkpoint: dict[str, Any]) -> None:
        checkpoint["state_dict"] = self.frozen() | checkpoint["state_dict"]

    def on_fit_start(self) -> None:
        self.seed = torch.initial_seed()

    def on_train_batch_start(self, batch: TrainingBatch, batch_idx: int) -> None:
        # dropout depends only on the seed, the index of the batch and the process, so a resumed run repeats it exactly
        number = self.trainer.current_epoch * int(self.trainer.num_training_batches) + batch_idx
        number = number * self.trainer.world_size + self.trainer.global_rank
        torch.manual_seed((self.seed * 1_000_003 + number) % (1 << 63))

    @abstractmethod
    def loss(self, batch: TrainingBatch) -> Tensor:
        """Mean loss over the questions of the batch."""

    def training_step(self, batch: TrainingBatch, _: int) -> Tensor:
        loss = self.loss(batch)
        self.log("train/loss", loss, prog_bar=True, batch_size=len(batch.examples))
        # the weight differs from 1 only in the last step of an epoch
        return loss * batch.weight

    def note_dev(self, graph: EvidenceGraph, example: Example) -> None:
        """Score one question of the dev split; the means are computed at its end."""
        gold = example.graph
        scores = float(graph_match(graph, gold)), float(graph_structure_match(graph, gold))
        self.dev.append((*scores, evidence_set(graph, gold).f1))

    def on_validation_epoch_end(self) -> None:
        gm, gs, f1 = torch.tensor(self.dev).mean(0).tolist()
        self.dev.clear()
        # the dev score weights graph and evidence set equally, because GM alone is coarse on a small dev set
        self.log_dict({"dev/gm": gm, "dev/gs": gs, "dev/f1": f1, "dev/score": (gm + f1) / 2}, prog_bar=True)

    def configure_optimizers(self) -> OptimizerLRScheduler:
        own = self.hparams
        encoder = [p for p in self.model.encoder.parameters() if p.requires_grad]
        known = {id(p) for p in self.model.encoder.parameters()}
        head = [p for p in self.model.parameters() if p.requires_grad and id(p) not in known]
        optimizer = make_optimizer(
            [{"params": encoder, "lr": own["encoder_learning_rate"]}, {"params": head, "lr": own["learning_rate"]}],
            head,
            matrix_learning_rate=own["matrix_learning_rate"],
            weight_decay=own["weight_decay"],
        )
        self.rates = [group["lr"] for group in optimizer.param_groups]
        return with_schedule(optimizer, self.trainer, warmup=own["warmup"])

    def on_train_start(self) -> None:
        """Set the learning rates of the config, even if the run started with others: a user whose training diverged
        resumes it with lower ones."""
        for group, rate in zip(self.trainer.optimizers[0].param_groups, self.rates, strict=True):
            if group["initial_lr"] != rate:
                group["lr"] *= rate / group["initial_lr"]
                group["initial_lr"] = rate
        self.trainer.lr_scheduler_configs[0].scheduler.base_lrs = self.rates
