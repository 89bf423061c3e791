"""Parse, train and keep the best epoch of a sequence-to-sequence model; a finished folder is a checkpoint of
transformers."""

from __future__ import annotations

from typing import Any

import torch
from lightning.pytorch import LightningDataModule
from lightning.pytorch.callbacks import ModelCheckpoint
from lightning.pytorch.cli import LightningCLI

from training.callbacks.reporter import Reporter, to_stderr
from training.callbacks.stops import StopAtNotFinite
from training.run import Run
from training.seq2seq.module import Seq2seqModule
from training.settings import lightning_cli


def parse_seq2seq(
    run: Run, data: type[LightningDataModule], name: str, *, monitor: str, mode: str, **trainer: Any
) -> LightningCLI:
    """Module, data and trainer of a run; the epoch that is best by `monitor` (``min`` or ``max``) will be kept.
    `name` stands before each epoch's line; `trainer` holds defaults of the trainer, where the config says nothing."""
    home = run.out / "training"
    keep = ModelCheckpoint(home / "epochs", monitor=monitor, mode=mode, save_last=True, enable_version_counter=False)
    watch = Reporter(name, to_stderr), StopAtNotFinite(name)
    return lightning_cli(run, Seq2seqModule, data, home, keep, *watch, **trainer)


def fit_seq2seq(run: Run, cli: LightningCLI) -> float:
    """Train, load the best epoch and save it with its tokenizer; what it scored by what is monitored."""
    last = run.out / "training" / "epochs" / "last.ckpt"
    resume = last if run.resume and last.exists() else None
    cli.trainer.fit(cli.model, datamodule=cli.datamodule, ckpt_path=resume, weights_only=True)
    kept = next(c for c in cli.trainer.checkpoint_callbacks if isinstance(c, ModelCheckpoint))
    state: dict[str, Any] = torch.load(kept.best_model_path, map_location="cpu", weights_only=True)
    cli.model.load_state_dict(state["state_dict"])
    cli.model.model.eval()
    cli.model.model.save_pretrained(run.out)
    cli.model.tokenizer.save_pretrained(run.out)
    return float(kept.best_model_score or 0.0)
