"""Training of the retriever: both directions, then calibration of the pair on dev."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import torch
from lightning.pytorch import Callback
from lightning.pytorch.accelerators import CPUAccelerator
from transformers import AutoTokenizer

from bgr.data.reasongraphqa.io.dataset import dataset_hash
from bgr.models.checkpoint import SHARED, save_part
from bgr.models.config import DIRECTIONS
from bgr.models.retriever import BgrRetriever
from bgr.pipeline import read_alike
from bgr.retrievers.graph_hop.checkpoint import SETTINGS, Settings, load_ranker, load_retriever
from bgr.retrievers.graph_hop.known_words import KnownWords
from bgr.retrievers.graph_hop.likelihood import DirectionResult
from bgr.retrievers.graph_hop.options import RANKER
from bgr.utils.atomic_io import complete_folder, output_folder
from bgr.utils.checksums import SUMS, remove_sums
from training.callbacks import Report, Reporter, to_stderr
from training.data_module import BgrDataModule
from training.lightning_cli import (
    BgrCLI,
    RetrieverCLI,
    fit_retriever,
    prepare,
    result_settings,
    retriever_cli,
    training_device,
)
from training.retriever.calibrate import best_threshold, calibrated, decode_dev
from training.retriever.module import BgrModule
from training.retriever.side_by_side import in_processes
from training.run import Run, first_process, is_finished, mark_finished

QUIET = "--trainer.enable_progress_bar=false"


@dataclass(frozen=True)
class Plan:
    """Result of `check`: the settings that affect the result, and whether the directions may be trained at once in
    separate processes."""

    settings: dict[str, Any]
    side_by_side: bool


def check(run: Run) -> Plan:
    """Read config and data before anything is written.

    Raises:
        BgrError: a key is unknown, a value is not allowed, or the data cannot be read.
    """
    cli = parse(run, "forward")
    cli.datamodule.setup()
    one_cpu = isinstance(cli.trainer.accelerator, CPUAccelerator) and cli.trainer.world_size == 1
    return Plan(result_settings(cli), one_cpu and torch.get_num_threads() > 1)


def train_retriever(run: Run, plan: Plan, directions: Sequence[str] = DIRECTIONS) -> dict[str, Any]:
    """Train the directions, keep the best epoch of each by dev score, and calibrate the pair.

    Returns:
        The dev metrics by direction and rule; empty in processes that do not write or if a direction is missing.
    """
    model = plan.settings["model"]
    settings = {d: {**plan.settings, "model": {**model, "direction": d}} for d in directions}
    missing = [d for d in directions if not (run.resume and is_finished(run, d, settings[d]))]
    if missing and first_process():
        (run.out / SETTINGS).unlink(missing_ok=True)  # it describes the previous pair
        remove_sums(run.out)
        if len(missing) == len(DIRECTIONS):
            (run.out / SHARED).unlink(missing_ok=True)  # no direction that remains needs it
    first = missing[0] if missing else None
    if len(missing) > 1 and plan.side_by_side:
        if model["frozen_layers"] and not (run.resume and all(run.home(d).is_dir() for d in missing)):
            # once for both, with all cores and in a process of its own, which frees its memory before they start
            in_processes(partial(prepare_states, run), missing[:1], bar=False)
            first = None  # it has reported what both read
        quiet = replace(run, overrides=(*run.overrides, QUIET))
        in_processes(partial(train_direction, quiet, first=first), missing)
    else:
        for direction in missing:
            train_direction(run, direction, to_stderr, first=first)
    if not first_process() or not all((run.out / direction).is_dir() for direction in DIRECTIONS):
        return {}
    if run.resume and (run.out / SETTINGS).exists():
        if not (run.out / SUMS).exists():  # killed before its last step
            complete_folder(run.out)
        return dict(Settings.load(run.out).metrics["dev"])
    return calibrate_pair(run)


def parse(run: Run, direction: str, *callbacks: Callback) -> RetrieverCLI:
    """Read the config of a direction; nothing is written. An unknown key or invalid value is an error of one line."""
    return retriever_cli(
        run, BgrModule, direction, *callbacks, settings=[f"--model.direction={direction}"], kind=BgrCLI
    )


def train_direction(run: Run, direction: str, report: Report, *, first: str | None = None) -> None:
    """Train one direction and save its best epoch to ``out/DIRECTION``; `report` is called for every epoch and its
    progress, and with the number of truncated texts and the use of the cache if it is the `first` direction of a run,
    since both read the same texts."""
    once = report if direction == first else None
    cli = fit_retriever(run, lambda run: parse(run, direction, Reporter(direction, report)), direction, once)
    if cli is None:
        return
    model: BgrRetriever = cli.model.model
    # two processes cannot share a terminal, but a file
    cli.datamodule.progress = QUIET not in run.overrides or not sys.stderr.isatty()
    model.config.threshold = best_threshold(model, cli.datamodule)
    with output_folder(run.out / direction, overwrite=True, sums=False) as folder:
        save_part(model, folder, run.out)
    mark_finished(run, direction, result_settings(cli))


def prepare_states(run: Run, direction: str, report: Report) -> None:
    """First part of `train_direction`: compute the states of the frozen layers that the cache lacks."""
    prepare(run, parse(run, direction), direction, report)


def calibrate_pair(run: Run) -> dict[str, Any]:
    """Choose the settings of the pair of directions in ``out`` on dev (`calibrated`), write ``bgr.json``, and return
    the dev metrics."""
    cli = parse(run, "forward")
    data: BgrDataModule = cli.datamodule
    tokenizer = AutoTokenizer.from_pretrained(run.out, local_files_only=True)
    found: list[list[DirectionResult]] = []
    prepared: BgrRetriever | None = None
    device = training_device(cli)
    for model in [load_retriever(run.out, direction) for direction in DIRECTIONS]:
        torch.nn.Module.to(model, device)
        if prepared is None or not read_alike(prepared, model):
            data.prepare(tokenizer, model, run.states_folder)
            prepared = model
            # another dataset's questions without an answer are near misses, for which ours would be refused as well
            data.splits["dev"] = data.own("dev")
        found.append(decode_dev(model, data))
    forward, backward = found
    settings = calibrated(forward, backward, data.splits["dev"], rule=cli.config["rule"])
    settings = replace(settings, data_hash=dataset_hash(run.data), recipe=data.recipe)
    settings = replace(settings, truncation=data.truncation)
    start = cli.model.hparams["init"]
    if start and (ranker := load_ranker(Path(start))) is not None:
        with output_folder(run.out / RANKER, overwrite=True, sums=False) as folder:
            ranker.save_pretrained(folder)
    known = KnownWords.learn(example.question for example in data.splits["train"])
    if start and (before := KnownWords.of(Path(start))) is not None:  # the weights have read those words too
        known += before
    known.save(run.out)
    settings.save(run.out)  # it marks the run as complete
    complete_folder(run.out)
    return dict(settings.metrics["dev"])
