"""A T5 with its optimiser, in Lightning: trained from scratch or from a checkpoint, on pairs of texts.

Random weights of a T5 that can already copy a little.

Most of a fact's sentence, and of an answer, are names, copied. To copy, a decoder must find the input's token that is
like its own last one and say the token after it (an induction head), which a small T5 learns only after many thousands
of pairs. Here a few heads begin that way; training is free to change them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from lightning.pytorch import LightningModule
from lightning.pytorch.utilities.types import OptimizerLRScheduler
from torch import Tensor, nn
from transformers import PreTrainedModel, PreTrainedTokenizerBase, T5Config, T5ForConditionalGeneration
from transformers import get_linear_schedule_with_warmup as linear_schedule

from bgr.models.seq2seq import load_seq2seq
from training.limits import at_least, share
from training.optimizer import make_optimizer
from training.seq2seq.data import IGNORED, Batch

FOCUS = 8.0
"""Added to the score of the token that a head is to look at; scores begin near 1."""


@torch.no_grad()
def ready_to_copy(model: T5ForConditionalGeneration) -> None:
    """Set some heads of a fresh T5; it needs two heads at least.

    Encoder: one head looks at the next token, one at the one before. Decoder: one head looks at the token before, and
    in each layer one head looks at the input's tokens that are like its own in themselves and in what came before, and
    hands on what comes next.
    """
    width, size = model.config.d_model, model.config.d_kv
    following, before, alike = (_rows(size, width) for _ in range(3))
    blocks: Any = model.decoder.block
    first: Any = model.encoder.block
    encoder, decoder = (side[0].layer[0].SelfAttention for side in (first, blocks))
    half = model.config.relative_attention_num_buckets // 2
    # buckets of T5's relative positions: from `half` on what follows, below it what came before
    encoder.relative_attention_bias.weight[half + 1, 0] += FOCUS
    encoder.relative_attention_bias.weight[1, 1] += FOCUS
    decoder.relative_attention_bias.weight[1, 0] += FOCUS
    _hand_on(encoder, 0, following)
    _hand_on(encoder, 1, before)
    _hand_on(decoder, 0, before)
    for block in blocks:
        cross = block.layer[1].EncDecAttention
        cross.q.weight[:size] = cross.k.weight[:size] = alike
        _hand_on(cross, 0, following)


def _rows(size: int, width: int) -> Tensor:
    return nn.init.orthogonal_(torch.empty(size, width))


def _hand_on(attention: Any, head: int, rows: Tensor) -> None:
    """The head gives what it looks at as it is, seen through `rows` ``[size, width]``."""
    part = slice(head * len(rows), (head + 1) * len(rows))
    attention.v.weight[part] = rows
    attention.o.weight[:, part] = rows.T


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
