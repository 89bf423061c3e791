"""What the training of every retriever does between reading its settings and writing its folder."""

from __future__ import annotations

from typing import Any

from transformers import AutoTokenizer

from bgr.models.packaged import resolve_model
from training.run import Run, first_process
from training.settings import RetrieverCLI


def prepare(run: Run, cli: RetrieverCLI) -> Any:
    """Tokenise the data and keep the frozen layers' states in the run folder; returns the tokenizer."""
    tokenizer = AutoTokenizer.from_pretrained(resolve_model(cli.model.hparams["encoder"]))
    cli.datamodule.prepare(tokenizer, cli.model.model, run.states_folder)
    return tokenizer


def fit(run: Run, cli: RetrieverCLI) -> None:
    """Train, from the last checkpoint with ``run.resume``; the model then has the weights of the best epoch."""
    last = cli.keeper.last
    resume = last if run.resume and last.exists() else None
    cli.trainer.fit(cli.model, datamodule=cli.datamodule, ckpt_path=resume, weights_only=True)
    if first_process():
        cli.model.load_state_dict(cli.keeper.best_weights())
        cli.model.model.eval()
