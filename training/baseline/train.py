"""Train a baseline, choose on dev what it keeps, and write its folder."""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from typing import Any

import torch

from bgr.data.reasongraphqa.io.dataset import dataset_hash, load_metadata
from bgr.retrievers.baselines.baseline_config import SETTINGS, BaselineSettings
from bgr.retrievers.baselines.beam import Search
from bgr.retrievers.baselines.model import BaselineModel
from bgr.retrievers.baselines.selection import NearBest, TopFacts
from bgr.utils.atomic_io import output_folder
from bgr.utils.devices import autocast, fast_bfloat16, pick_device
from training.baseline.choose import Untrained, best_keep, choices, choose_k, is_untrained, metrics_of, read_untrained
from training.baseline.module import BaselineModule
from training.callbacks.reporter import Reporter, to_stderr
from training.callbacks.stops import StopAtNotFinite
from training.data_module import BgrDataModule
from training.fit import fit, prepare
from training.run import Run, first_process, is_finished, mark_finished
from training.settings import RetrieverCLI, lightning_cli, shaping


@dataclass(frozen=True)
class Plan:
    """What `check` learned from the config.

    Args:
        kind: of the baseline.
        settings: those that change what comes out.
        untrained: of one without weights.
    """

    kind: str
    settings: dict[str, Any]
    untrained: Untrained | None = None


def check(run: Run) -> Plan:
    """Read config and data once before anything is written.

    Raises:
        BgrError: an unknown key, a value that is not allowed, or data that cannot be read.
    """
    if is_untrained(run.config):
        about = read_untrained(run)
        load_metadata(run.data)
        return Plan(about.kind, {}, about)
    cli = _parse(run, "baseline")
    cli.datamodule.setup()
    return Plan(cli.model.hparams["kind"], shaping(cli))


def train_baseline(run: Run, plan: Plan) -> dict[str, Any]:
    """Train, keep the best epoch by dev score, choose on dev, write ``run.out``. Returns the dev metrics; nothing in
    processes that do not write."""
    if plan.untrained is not None:
        return choose_k(run, plan.untrained) if first_process() else {}
    if not (run.resume and is_finished(run, plan.kind, plan.settings)):
        if first_process():
            (run.out / SETTINGS).unlink(missing_ok=True)  # it speaks of the weights that were there before
        _fit(run, plan)
    if not first_process():
        return {}
    return dict(BaselineSettings.load(run.out).metrics["dev"])


def _fit(run: Run, plan: Plan) -> None:
    home = run.home(plan.kind)
    if not run.resume and first_process():
        shutil.rmtree(home, ignore_errors=True)  # an earlier training's, which a later --resume must not go on from
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
    settings.save(run.out)  # the last file, by which others see that the run is complete
    mark_finished(run, plan.kind, shaping(cli))


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
    """All that is found for each question of the dev split."""
    found: list[Search] = []
    for item in data.val_dataloader():
        with autocast(model.device):  # as it will be run
            found += model.search(item.to(model.device).batch)
    return found


def _parse(run: Run, name: str, *callbacks: Any) -> RetrieverCLI:
    home = run.home(name)
    cli: RetrieverCLI = lightning_cli(
        run,
        BaselineModule,
        BgrDataModule,
        home,
        *callbacks,
        StopAtNotFinite(name),
        cli=RetrieverCLI,
        settings=[f"--checkpoint.folder={home / 'epochs'}"],
        precision="bf16-mixed" if fast_bfloat16(pick_device()) else "32-true",
        use_distributed_sampler=False,  # the data module shares the questions out by itself
    )
    return cli
