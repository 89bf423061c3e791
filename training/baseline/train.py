"""Training of a baseline: train it, choose its selection on dev, and write its folder."""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from typing import Any

import torch

from bgr.data.reasongraphqa.io.dataset import dataset_hash, load_metadata
from bgr.retrievers.baselines.baseline_config import SETTINGS, BaselineSettings
from bgr.retrievers.baselines.beam import NearBest, Search, TopFacts
from bgr.retrievers.baselines.model import BaselineModel
from bgr.utils.atomic_io import output_folder
from bgr.utils.devices import autocast
from training.baseline.choose import Untrained, best_keep, choices, choose_k, is_untrained, metrics_of, read_untrained
from training.baseline.module import BaselineModule
from training.callbacks.reporter import Reporter, to_stderr
from training.data_module import BgrDataModule
from training.lightning_cli import RetrieverCLI, fit, prepare, result_settings, retriever_cli
from training.run import Run, first_process, is_finished, mark_finished


@dataclass(frozen=True)
class Plan:
    """Result of `check`.

    Args:
        kind: kind of the baseline.
        settings: settings that affect the result.
        untrained: settings of a baseline without weights.
    """

    kind: str
    settings: dict[str, Any]
    untrained: Untrained | None = None


def check(run: Run) -> Plan:
    """Read config and data before anything is written.

    Raises:
        BgrError: a key is unknown, a value is not allowed, or the data cannot be read.
    """
    if is_untrained(run.config):
        about = read_untrained(run)
        load_metadata(run.data)
        return Plan(about.kind, {}, about)
    cli = _parse(run, "baseline")
    cli.datamodule.setup()
    return Plan(cli.model.hparams["kind"], result_settings(cli))


def train_baseline(run: Run, plan: Plan) -> dict[str, Any]:
    """Train, load the best epoch by dev score, choose the selection on dev, and write ``run.out``.

    Returns:
        The dev metrics; empty in processes that do not write.
    """
    if plan.untrained is not None:
        return choose_k(run, plan.untrained) if first_process() else {}
    if not (run.resume and is_finished(run, plan.kind, plan.settings)):
        if first_process():
            (run.out / SETTINGS).unlink(missing_ok=True)  # it describes the previous weights
        _fit(run, plan)
    if not first_process():
        return {}
    return dict(BaselineSettings.load(run.out).metrics["dev"])


def _fit(run: Run, plan: Plan) -> None:
    home = run.home(plan.kind)
    if not run.resume and first_process():
        shutil.rmtree(home, ignore_errors=True)  # checkpoints of an earlier training, which --resume must not use
    cli = _parse(run, plan.kind, Reporter(plan.kind, to_stderr))
    tokenizer = prepare(run, cli)
    fit(run, cli)
    if not first_process():
        return
    model: BaselineModel = cli.model.model
    settings = _choose(model, cli.datamodule, dataset_hash(run.data))
    with output_folder(run.out / plan.kind, overwrite=True) as folder:
        model.save_pretrained(folder)
    tokenizer.save_pretrained(run.out)
    settings.save(run.out)  # the last file marks the folder as complete
    mark_finished(run, plan.kind, result_settings(cli))


def _choose(model: BaselineModel, data: BgrDataModule, data_hash: str) -> BaselineSettings:
    kind, examples = model.config.kind, data.splits["dev"]
    found = search_dev(model, data)
    keep, metrics = best_keep(found, examples, choices(kind))
    rows = dict(metrics)
    if isinstance(keep, TopFacts):
        rows |= {f"{name}_gold_k": value for name, value in metrics_of(found, examples, TopFacts()).items()}
    return BaselineSettings(
        kind,
        k=keep.k if isinstance(keep, TopFacts) else None,
        margin=keep.margin if isinstance(keep, NearBest) else None,
        data_hash=data_hash,
        metrics={"dev": rows},
    )


@torch.inference_mode()
def search_dev(model: BaselineModel, data: BgrDataModule) -> list[Search]:
    """Search results for each question of the dev split."""
    found: list[Search] = []
    for item in data.val_dataloader():
        with autocast(model.device):  # as in the retriever
            found += model.search(item.to(model.device).batch)
    return found


def _parse(run: Run, name: str, *callbacks: Any) -> RetrieverCLI:
    return retriever_cli(run, BaselineModule, name, run.home(name), *callbacks)
