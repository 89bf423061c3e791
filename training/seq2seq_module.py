"""A T5 with its optimiser, in Lightning: trained from scratch or from a checkpoint, on pairs of texts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from lightning.pytorch import LightningModule
from lightning.pytorch.utilities.types import OptimizerLRScheduler
from torch import Tensor
from transformers import PreTrainedModel, PreTrainedTokenizerBase, T5Config, T5ForConditionalGeneration
from transformers import get_linear_schedule_with_warmup as linear_schedule

from bgr.seq2seq import load_seq2seq
from training.limits import at_least, share
from training.optimizer import make_optimizer
from training.seq2seq_data import IGNORED, Batch
from training.seq2seq_start import ready_to_copy


class Seq2seqModule(LightningModule):
    """A T5 that reads one text and writes another.

    Args:
        init: hub id or folder of an encoder-decoder to start from; empty for a T5 of the sizes below with random
            weights and a tokenizer of its own.
        vocabulary: tokens of that tokenizer.
        width, layers, heads, feed_forward: sizes of that T5; `layers` each of encoder and decoder.
        dropout: of that T5.
        learning_rate: highest; of all but what `matrix_learning_rate` takes.
        matrix_learning_rate: highest, of the matrices but the tokens' vectors, moved by Muon; 0 leaves them to AdamW.
        weight_decay: of both.
        warmup: share of the steps in which the learning rate rises; it then falls linearly to 0.

    Raises:
        ValueError: sizes that do not go together, or a number out of range.
    """

    def __init__(
        self,
        init: str = "",
        vocabulary: int = 2048,
        width: int = 128,
        layers: int = 3,
        heads: int = 4,
        feed_forward: int = 512,
        dropout: float = 0.0,
        learning_rate: float = 1e-3,
        matrix_learning_rate: float = 0.0,
        weight_decay: float = 0.01,
        warmup: float = 0.05,
    ) -> None:
        super().__init__()
        if heads < 2 or width % heads:
            raise ValueError(f"{heads} heads of width {width}, allowed: 2 or more, and the width a multiple of them")
        at_least(1, vocabulary=vocabulary, width=width, layers=layers, feed_forward=feed_forward)
        at_least(0, learning_rate=learning_rate, matrix_learning_rate=matrix_learning_rate, weight_decay=weight_decay)
        share(dropout=dropout, warmup=warmup)
        self.save_hyperparameters()
        self.model: PreTrainedModel
        self.tokenizer: PreTrainedTokenizerBase
        self.seed = 0

    def start(self, tokenizer: Callable[[int], PreTrainedTokenizerBase], *, more: Sequence[str] = ()) -> None:
        """Make or load model and tokenizer.

        Args:
            tokenizer: makes a new one of about so many tokens; not called where `init` brings its own.
            more: tokens that are added to the one that `init` brings, where it lacks them.

        Raises:
            CheckpointError: `init` is no encoder-decoder.
        """
        if self.hparams["init"]:
            self.model, self.tokenizer = load_seq2seq(self.hparams["init"])
            if self.tokenizer.add_tokens(list(more)):
                self.model.resize_token_embeddings(len(self.tokenizer))
        else:
            self.tokenizer = tokenizer(self.hparams["vocabulary"])
            model = T5ForConditionalGeneration(self._config())
            ready_to_copy(model)
            self.model = model

    def _config(self) -> T5Config:
        sizes = self.hparams
        special: dict[str, Any] = {"decoder_start_token_id": self.tokenizer.pad_token_id}
        return T5Config(
            vocab_size=len(self.tokenizer),
            d_model=sizes["width"],
            d_kv=sizes["width"] // sizes["heads"],
            d_ff=sizes["feed_forward"],
            num_layers=sizes["layers"],
            num_heads=sizes["heads"],
            dropout_rate=sizes["dropout"],
            pad_token_id=self.tokenizer.pad_token_id,
            eos_token_id=self.tokenizer.eos_token_id,
            **special,
        )

    def on_fit_start(self) -> None:
        self.seed = torch.initial_seed()

    def on_train_batch_start(self, batch: Batch, batch_idx: int) -> None:
        # a step's dropout depends on the seed and the step alone, so a resumed run repeats it exactly
        torch.manual_seed(self.seed * 1_000_003 + self.global_step)

    def training_step(self, batch: Batch, _: int) -> Tensor:
        loss = self.model(**batch).loss
        self.log("train/loss", loss, prog_bar=True, batch_size=len(batch["labels"]))
        return loss

    def validation_step(self, batch: Batch, _: int) -> None:
        """``dev/loss``, a token's; and ``dev/score``, the share of texts that greedy writing would give to the letter:
        it does so just where each next token is the likeliest."""
        found = self.model(**batch)
        wanted = batch["labels"]
        right = ((found.logits.argmax(-1) == wanted) | (wanted == IGNORED)).all(1).float().mean()
        self.log("dev/loss", found.loss, prog_bar=True, batch_size=int((wanted != IGNORED).sum()))
        self.log("dev/score", right, prog_bar=True, batch_size=len(wanted))

    def configure_optimizers(self) -> OptimizerLRScheduler:
        settings = self.hparams
        weights = list(self.model.parameters())
        vectors = {id(part.weight) for part in self._embeddings()}
        optimizer = make_optimizer(
            [{"params": weights, "lr": settings["learning_rate"]}],
            [weight for weight in weights if id(weight) not in vectors],
            matrix_learning_rate=settings["matrix_learning_rate"],
            weight_decay=settings["weight_decay"],
        )
        steps = int(self.trainer.estimated_stepping_batches)
        schedule = linear_schedule(optimizer, round(settings["warmup"] * steps), steps)
        return {"optimizer": optimizer, "lr_scheduler": {"scheduler": schedule, "interval": "step"}}

    def _embeddings(self) -> list[Any]:
        parts = self.model.get_input_embeddings(), self.model.get_output_embeddings()
        return [part for part in parts if part is not None]
