"""Trainings from their options, as `bgr train` and Python start them. All is checked before the first step."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from bgr.errors import BgrError
from bgr.models.config import DIRECTIONS
from bgr.released import find_config
from bgr.retrievers.baselines.baseline_config import KINDS
from bgr.retrievers.graph_hop.checkpoint import Settings
from bgr.utils.atomic_io import complete_folder, share_files
from bgr.utils.devices import check_addresses
from training.baseline import train as baseline
from training.lightning_cli import result_settings
from training.options import BaselineOptions, ReaderOptions, RetrieverOptions, TrainOptions, VerbalizerOptions
from training.reader.train import is_extractive, read_config, train_extractive_reader
from training.retriever import train as retriever
from training.retriever.seeds import check_kind, read_seeds, train_seeds
from training.run import Run, check_folder, first_process, prepare_folder, with_states
from training.seq2seq.reader import train_reader
from training.seq2seq.verbalizer import train_verbalizer


@dataclass(frozen=True)
class Training:
    """Run folder and dev metrics of a training, and the kind of a baseline. A retriever's metrics are by direction and
    rule, and empty if one direction is trained; with several seeds they are the content of ``seeds.json``."""

    out: Path
    metrics: dict[str, Any]
    kind: str = ""


def start_retriever(options: RetrieverOptions) -> Training | None:
    """Train both directions of the retriever, or one, with one seed or several, and calibrate the pair on dev.

    Returns:
        None in processes that do not write (with several devices or nodes all but the first).

    Raises:
        BgrError: a setting, the data or the run folder cannot be used.
    """
    seeds = None if options.seeds is None else read_seeds(options.seeds)
    both = options.direction == "both"
    run = _run(options, options.data, init=options.init)
    check_folder(run, overwrite=options.overwrite, alone=not both)
    if not options.overwrite:
        check_kind(options.out, several=seeds is not None)
    plan = retriever.check(run)
    run = with_states(run, options.states, plan.settings)
    prepare_folder(run, overwrite=options.overwrite)
    if seeds is not None:
        metrics = train_seeds(run, plan, seeds)
    else:
        metrics = retriever.train_retriever(run, plan, DIRECTIONS if both else (options.direction,))
    return Training(run.out, metrics) if first_process() else None


def start_baseline(options: BaselineOptions) -> Training | None:
    """Train a baseline, or only choose its number of facts on dev where it has no weights.

    Returns:
        None in processes that do not write.

    Raises:
        BgrError: a setting, the data or the run folder cannot be used.
    """
    # ``dpr`` is short for the shipped ``baseline-dpr``; a file of that name comes first
    short = options.config in KINDS and not Path(options.config).is_file()
    run = _run(options, options.data, name=f"baseline-{options.config}" if short else "")
    check_folder(run, overwrite=options.overwrite)
    plan = baseline.check(run)
    run = with_states(run, options.states, plan.settings)
    prepare_folder(run, overwrite=options.overwrite)
    metrics = baseline.train_baseline(run, plan)
    return Training(run.out, metrics, plan.kind) if first_process() else None


def start_reader(options: ReaderOptions) -> Training:
    """Train a reader of the kind that its config says; see `train_extractive_reader` and `train_reader`.

    Raises:
        BgrError: a setting, the data or the run folder cannot be used.
    """
    run = _run(options, options.data, init=options.init)
    if is_extractive(run):
        if options.retriever is not None:
            Settings.load(options.retriever)  # an error is told before anything is written
        check_folder(run, overwrite=options.overwrite)
        run = with_states(run, options.states, result_settings(read_config(run)))
        prepare_folder(run, overwrite=options.overwrite)
        metrics = train_extractive_reader(run, options.retriever)
        if first_process():
            share_files(run.out)
            complete_folder(run.out)
        return Training(run.out, metrics)
    if options.retriever is not None:
        raise BgrError("--retriever: only for an extractive reader; a seq2seq reader has --data.retrieved=FILE")
    metrics = train_reader(run, overwrite=options.overwrite)
    share_files(run.out)
    complete_folder(run.out)
    return Training(run.out, metrics)


def start_verbalizer(options: VerbalizerOptions) -> Training:
    """Train a verbalizer; see `training.seq2seq.verbalizer.train_verbalizer`.

    Raises:
        BgrError: a setting, the knowledge base or the run folder cannot be used.
    """
    run = _run(options, options.kqapro, init=options.init)
    if options.seed is not None:
        run = replace(run, overrides=[*run.overrides, f"--data.seed={options.seed}"])
    metrics = train_verbalizer(run, overwrite=options.overwrite)
    share_files(run.out)
    complete_folder(run.out)
    return Training(run.out, metrics)


def _run(options: TrainOptions, data: Path, *, name: str = "", init: object = None) -> Run:
    """The run with the settings of the command line; `name` replaces that of the config, `init` (a path or an id) the
    initial model."""
    check_addresses()
    config = find_config(name or options.config)
    settings = overrides(options.settings)
    if options.seed is not None:
        settings.append(f"--seed_everything={options.seed}")
    if init is not None:
        settings.append(f"--model.init={init}")
    return Run(config, data, options.out, settings, options.resume and not options.overwrite)


def overrides(words: Sequence[str]) -> list[str]:
    """Return the settings of the command line; BgrError if a word is not of the form ``--section.key=value``."""
    unknown = [word for word in words if not word.startswith("--") or "=" not in word]
    if unknown:
        raise BgrError(f"unknown argument {unknown[0]!r}; settings are given as --trainer.max_epochs=3")
    return list(words)
