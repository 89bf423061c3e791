"""A trained baseline on disk.

::

    baseline.json                kind, k or margin chosen on dev, data hash, dev metrics
    KIND/                        config.json, model.safetensors (not of bm25 and random, which have nothing to learn)
    tokenizer.json, …            the encoder's tokenizer
"""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import torch

from bgr.baselines.bm25 import Bm25Facts
from bgr.baselines.config import BaselineConfig
from bgr.baselines.dpr import DprModel
from bgr.baselines.grr import GrrModel
from bgr.baselines.keep import TopFacts
from bgr.baselines.mdr import MdrModel
from bgr.baselines.model import BaselineModel
from bgr.baselines.random_facts import RandomFacts
from bgr.baselines.settings import SINGLE_HOP, BaselineSettings
from bgr.baselines.ssg import SsgModel
from bgr.baselines.trained import TrainedBaseline
from bgr.checkpoint import load_tokenizer
from bgr.errors import BgrError, CheckpointError
from bgr.json_text import one_line, shown
from bgr.retrieval import Query, Retriever
from bgr.weights import load_weights, read_config

MODELS: dict[str, type[BaselineModel]] = {"dpr": DprModel, "grr": GrrModel, "mdr": MdrModel, "ssg": SsgModel}


def load_baseline(
    folder: str | Path,
    *,
    device: str | torch.device | None = None,
    precision: str | None = None,
    k: int | Literal["gold", "dev"] = "gold",
) -> Retriever:
    """A baseline from its folder, without the network.

    Args:
        folder: what `bgr train baseline` wrote.
        device, precision: see `TrainedBaseline`.
        k: facts that a single-hop baseline takes: a number, ``gold`` for `Query.gold_count` (the paper's protocol), or
            ``dev`` for what dev chose. The others stop by themselves.

    Raises:
        DataError: a file is missing or not JSON.
        CheckpointError: a file is damaged or does not fit the others, or the folder is no baseline's.
        BgrError: `k` is out of range, or given to a baseline that stops by itself.
    """
    folder = Path(folder)
    settings = BaselineSettings.load(folder)
    single = settings.kind in SINGLE_HOP
    if not single and type(k) is int:
        raise BgrError(f"{folder}: {settings.kind} stops by itself and takes no k")
    chosen = settings.k if k == "dev" else None if k == "gold" else k
    keep = TopFacts(chosen) if single else settings.keep()
    if settings.kind not in MODELS:
        return untrained(settings.kind, chosen, settings.seed)
    model = load_model(folder, settings.kind)
    tokenizer = load_tokenizer(folder, model.config.encoder.vocab_size)
    baseline = TrainedBaseline(model, tokenizer, keep, device=device, precision=precision)
    try:
        baseline.search([Query("?", ["."])])
    except Exception as error:  # weights may fit a configuration that yet cannot be run
        raise CheckpointError(f"{folder}: the model cannot be run: {one_line(error)}") from None
    return baseline


def untrained(kind: str, k: int | None, seed: int = 0) -> Retriever:
    """``bm25`` or ``random``, with k facts or the number of gold ones."""
    return Bm25Facts(k) if kind == "bm25" else RandomFacts(k, seed=seed)


def baseline_rows(
    folder: str | Path, *, device: str | torch.device | None = None, precision: str | None = None
) -> dict[str, Retriever]:
    """A baseline's rows of a table by name; single-hop ones with k = number of gold facts, and with dev's k."""
    settings = BaselineSettings.load(Path(folder))
    retriever = load_baseline(folder, device=device, precision=precision)
    if settings.kind not in SINGLE_HOP:
        return {settings.kind: retriever}
    if isinstance(retriever, TrainedBaseline):
        tuned: Retriever = retriever.keeping(settings.keep())
    else:
        tuned = load_baseline(folder, k="dev")
    return {settings.kind: retriever, f"{settings.kind}, k = {settings.k}": tuned}


def load_model(folder: Path, kind: str) -> BaselineModel:
    """The model in evaluation mode, in float32, every tensor checked against its configuration.

    Raises:
        CheckpointError: a file is missing or damaged, or a tensor is missing, left over, or of another size.
    """
    home = folder / kind
    for name in ("config.json", "model.safetensors"):
        if not (home / name).is_file():
            raise CheckpointError(f"{home / name}: no such file")
    config = read_config(home / "config.json", BaselineConfig)
    if config.kind != kind:
        raise CheckpointError(f"{home / 'config.json'}: kind is {shown(config.kind)}, expected {kind!r}")
    model: BaselineModel = load_weights(home, MODELS[kind], config)
    return model
