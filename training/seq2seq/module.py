"""Training of a T5 on pairs of texts, from scratch or from a checkpoint.

Sentences and answers consist mostly of copied names. To copy, a decoder must find the input token that equals its last
one and produce the token after it (an induction head). A small T5 learns this only after many thousands of pairs, so
`init_copy_heads` initializes a few heads that way; training is free to change them.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import torch
from lightning.pytorch import LightningDataModule, LightningModule
from lightning.pytorch.callbacks import ModelCheckpoint
from lightning.pytorch.cli import LightningCLI
from lightning.pytorch.utilities.types import OptimizerLRScheduler
from torch import Tensor, nn
from transformers import PreTrainedModel, PreTrainedTokenizerBase, T5Config, T5ForConditionalGeneration

from bgr import __version__
from bgr.models.seq2seq import load_seq2seq
from bgr.utils.checksums import remove_sums
from training.callbacks import Reporter, StopAtNotFinite, to_stderr
from training.lightning_cli import fit, lightning_cli
from training.optimizer import make_optimizer, with_schedule
from training.run import Run, at_least, check_folder, prepare_folder, read_checkpoint, share
from training.seq2seq.data import IGNORED, Batch

FOCUS = 8.0
"""Added to the score of the token that a head attends to; initial scores are near 1."""


@torch.no_grad()
def init_copy_heads(model: T5ForConditionalGeneration) -> None:
    """Initialize some heads of a new T5 with at least two heads for copying.

    In the encoder, one head attends to the next token and one to the previous one. In the decoder, one head attends to
    the previous token. In each decoder layer, one head attends to input tokens that are equal to its own token with an
    equal previous token, and returns their next token.
    """
    width, size = model.config.d_model, model.config.d_kv
    following, before, alike = (nn.init.orthogonal_(torch.empty(size, width)) for _ in range(3))
    blocks: Any = model.decoder.block
    first: Any = model.encoder.block
    encoder, decoder = (side[0].layer[0].SelfAttention for side in (first, blocks))
    half = model.config.relative_attention_num_buckets // 2
    # buckets of T5's relative positions: from `half` on later tokens, below it earlier tokens
    encoder.relative_attention_bias.weight[half + 1, 0] += FOCUS
    encoder.relative_attention_bias.weight[1, 1] += FOCUS
    decoder.relative_attention_bias.weight[1, 0] += FOCUS
    _set_values(encoder, 0, following)
    _set_values(encoder, 1, before)
    _set_values(decoder, 0, before)
    for block in blocks:
        cross = block.layer[1].EncDecAttention
        cross.q.weight[:size] = cross.k.weight[:size] = alike
        _set_values(cross, 0, following)


def _set_values(attention: Any, head: int, rows: Tensor) -> None:
    """Let the head return the tokens that it attends to, projected by `rows` ``[size, width]``."""
    part = slice(head * len(rows), (head + 1) * len(rows))
    attention.v.weight[part] = rows
    attention.o.weight[:, part] = rows.T


class Seq2seqModule(LightningModule):
    """Lightning module of a T5 that maps one text to another.

    Args:
        init: hub id or folder of an encoder-decoder to start from; empty for a T5 of the sizes below with random
            weights and its own tokenizer.
        vocabulary: number of tokens of that tokenizer.
        width, layers, heads, feed_forward: sizes of that T5; encoder and decoder have `layers` layers each.
        dropout: dropout probability of that T5.
        learning_rate: peak learning rate of AdamW.
        matrix_learning_rate: peak learning rate of Muon for matrices except embeddings; 0 for AdamW.
        weight_decay: weight decay of both.
        warmup: share of the steps in which the learning rate rises; afterwards it falls linearly to 0.

    Raises:
        ValueError: sizes are inconsistent, or a number is out of range.
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
        """Create the model and a tokenizer of about the configured size, or load those of `init` and add the tokens in
        `more`.

        Raises:
            CheckpointError: `init` is not an encoder-decoder.
        """
        if self.hparams["init"]:
            self.model, self.tokenizer = load_seq2seq(self.hparams["init"])
            if self.tokenizer.add_tokens(list(more)):
                self.model.resize_token_embeddings(len(self.tokenizer))
        else:
            self.tokenizer = tokenizer(self.hparams["vocabulary"])
            model = T5ForConditionalGeneration(self._config())
            init_copy_heads(model)
            self.model = model

    def _config(self) -> T5Config:
        sizes = self.hparams
        pad: Any = self.tokenizer.pad_token_id
        return T5Config(
            vocab_size=len(self.tokenizer),
            d_model=sizes["width"],
            d_kv=sizes["width"] // sizes["heads"],
            d_ff=sizes["feed_forward"],
            num_layers=sizes["layers"],
            num_heads=sizes["heads"],
            dropout_rate=sizes["dropout"],
            pad_token_id=pad,
            eos_token_id=self.tokenizer.eos_token_id,
            **{"decoder_start_token_id": pad},
        )

    def on_fit_start(self) -> None:
        self.seed = torch.initial_seed()

    def on_train_batch_start(self, batch: Batch, batch_idx: int) -> None:
        # dropout depends only on the seed and the step, so a resumed run repeats it exactly
        torch.manual_seed(self.seed * 1_000_003 + self.global_step)

    def training_step(self, batch: Batch, _: int) -> Tensor:
        loss = self.model(**batch).loss
        self.log("train/loss", loss, prog_bar=True, batch_size=len(batch["labels"]))
        return loss

    def validation_step(self, batch: Batch, _: int) -> None:
        """Log ``dev/loss`` per token and ``dev/score``, the share of texts that greedy decoding would reproduce
        exactly: those in which each next token is the most likely one."""
        found = self.model(**batch)
        wanted = batch["labels"]
        right = ((found.logits.argmax(-1) == wanted) | (wanted == IGNORED)).all(1).float().mean()
        self.log("dev/loss", found.loss, prog_bar=True, batch_size=int((wanted != IGNORED).sum()))
        self.log("dev/score", right, prog_bar=True, batch_size=len(wanted))

    def configure_optimizers(self) -> OptimizerLRScheduler:
        settings = self.hparams
        weights = list(self.model.parameters())
        parts = self.model.get_input_embeddings(), self.model.get_output_embeddings()
        vectors = {id(part.weight) for part in parts if part is not None}
        optimizer = make_optimizer(
            [{"params": weights, "lr": settings["learning_rate"]}],
            [weight for weight in weights if id(weight) not in vectors],
            matrix_learning_rate=settings["matrix_learning_rate"],
            weight_decay=settings["weight_decay"],
        )
        return with_schedule(optimizer, self.trainer, warmup=settings["warmup"])


def start_seq2seq(
    run: Run, data: type[LightningDataModule], name: str, *, overwrite: bool, monitor: str, mode: str, **trainer: Any
) -> LightningCLI:
    """Check the run folder, create module, data and trainer, and read the data. Nothing is written. The epoch with the
    lowest (``min``) or highest `monitor` is kept; `name` is the prefix of messages, and `trainer` has defaults of the
    trainer."""
    check_folder(run, overwrite=overwrite)
    home = run.out / "training"
    keep = ModelCheckpoint(home / "epochs", monitor=monitor, mode=mode, save_last=True, enable_version_counter=False)
    watch = Reporter(name, to_stderr), StopAtNotFinite(name)
    cli: LightningCLI = lightning_cli(run, Seq2seqModule, data, home, keep, *watch, **trainer)
    cli.datamodule.setup()
    return cli


def fit_seq2seq(run: Run, cli: LightningCLI, *, overwrite: bool) -> float:
    """Train, load the best epoch, save it as a checkpoint of transformers with its tokenizer, and return its score."""
    prepare_folder(run, overwrite=overwrite)
    remove_sums(run.out)
    folder = run.out / "training" / "epochs"
    fit(run, cli, folder / "last.ckpt")
    kept = next(c for c in cli.trainer.checkpoint_callbacks if isinstance(c, ModelCheckpoint))
    # by its name alone: no path in a checkpoint leaves the folder
    state = read_checkpoint(folder / Path(kept.best_model_path).name)
    cli.model.load_state_dict(state["state_dict"])
    cli.model.model.eval()
    cli.model.model.save_pretrained(run.out)
    cli.model.tokenizer.save_pretrained(run.out)
    return float(kept.best_model_score or 0.0)


def write_results(
    run: Run, module: Seq2seqModule, metrics: dict[str, float], *, task: str, text: str, rows: dict[str, str]
) -> None:
    """Write ``metrics.json`` and the checkpoint's README: the `task` as a tag for the model hub, and `text` with a
    table of `rows`, of the model, its start and the version of the package in the place of ``{table}``."""
    (run.out / "metrics.json").write_text(json.dumps(metrics, indent=2) + "\n", encoding="utf-8")
    rows = {
        "model": f"{module.model.config.model_type}, {sum(w.numel() for w in module.model.parameters()):,} weights",
        "started from": module.hparams["init"] or "random weights, own tokenizer",
        **rows,
        "written by": f"bgr {__version__}",
    }
    table = "\n".join(["| | |", "| --- | --- |", *(f"| {name} | {value} |" for name, value in rows.items())])
    head = f"---\nlibrary_name: transformers\nlicense: apache-2.0\ntags: [{task}, reasongraphqa]\n---\n\n"
    (run.out / "README.md").write_text(head + text.replace("{table}", table), encoding="utf-8")
