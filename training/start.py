"""Trainings from their options, as `bgr train` and Python start them. All is checked before the first step."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bgr.models.config import DIRECTIONS
from bgr.retrievers.baselines.baseline_config import KINDS
from bgr.utils.atomic_io import read_json
from bgr.utils.configs import find_config, overrides
from training.baseline import train as baseline
from training.options import BaselineOptions, ReaderOptions, RetrieverOptions, TrainOptions, VerbalizerOptions
from training.retriever import train as retriever
from training.retriever.seeds import SUMMARY, Spread, check_kind, read_seeds, train_seeds
from training.run import Run, check_folder, first_process, prepare_folder
from training.seq2seq.reader import train_reader
from training.seq2seq.verbalizer import train_verbalizer


@dataclass(frozen=True)
class RetrieverTraining:
    """Result of `start_retriever`.

    Args:
        out: run folder.
        metrics: metrics on dev by direction and rule; empty with several seeds, and where one direction is trained.
        seeds: the seeds, if there are several.
        summary: mean and spread of each metric over the seeds.
        record: content of ``seeds.json``.
    """

    out: Path
    metrics: dict[str, dict[str, float]]
    seeds: tuple[int, ...] = ()
    summary: dict[str, dict[str, Spread]] | None = None
    record: dict[str, Any] | None = None


@dataclass(frozen=True)
class Training:
    """Result of the other trainings: run folder and metrics on dev, and the kind of a baseline."""

    out: Path
    metrics: dict[str, float]
    kind: str = ""


def start_retriever(options: RetrieverOptions) -> RetrieverTraining | None:
    """Train both directions of the retriever, or one, with one seed or several, and calibrate the pair on dev.

    Returns:
        None in processes that do not write (with several devices or nodes all but the first).

    Raises:
        BgrError: a setting, the data or the run folder cannot be used.
    """
    seeds = None if options.seeds is None else read_seeds(options.seeds)
    both = options.direction == "both"
    run = _run(options, find_config(options.config), options.data, resume=options.resume and not options.overwrite)
    check_folder(run, overwrite=options.overwrite, alone=not both)
    if not options.overwrite:
        check_kind(options.out, several=seeds is not None)
    plan = retriever.check(run)
    prepare_folder(run, overwrite=options.overwrite)
    if seeds is not None:
        summary = train_seeds(run, plan, seeds)
        if not first_process():
            return None
        return RetrieverTraining(run.out, {}, seeds, summary, read_json(run.out / SUMMARY))
    metrics = retriever.train_retriever(run, plan, DIRECTIONS if both else (options.direction,))
    return RetrieverTraining(run.out, metrics) if first_process() else None


def start_baseline(options: BaselineOptions) -> Training | None:
    """Train a baseline, or only choose its number of facts on dev where it has no weights.

    Returns:
        None in processes that do not write.

    Raises:
        BgrError: a setting, the data or the run folder cannot be used.
    """
    config = find_config(_shipped(options.config))
    resume = options.resume and not options.overwrite
    run = _run(options, config, options.data, resume=resume, states=options.states)
    check_folder(run, overwrite=options.overwrite)
    plan = baseline.check(run)
    prepare_folder(run, overwrite=options.overwrite)
    metrics = baseline.train_baseline(run, plan)
    return Training(run.out, metrics, plan.kind) if first_process() else None


def _shipped(name: str) -> str:
    """``dpr`` is short for the shipped ``baseline-dpr``; a file of that name comes first."""
    return f"baseline-{name}" if name in KINDS and not Path(name).is_file() else name


def start_reader(options: ReaderOptions) -> Training:
    """Train a reader; see `training.seq2seq.reader.train_reader`.

    Raises:
        BgrError: a setting, the data or the run folder cannot be used.
    """
    run = _run(options, find_config(options.config), options.data, *_init(options.init), resume=options.resume)
    return Training(run.out, train_reader(run, overwrite=options.overwrite))


def start_verbalizer(options: VerbalizerOptions) -> Training:
    """Train a verbalizer; see `training.seq2seq.verbalizer.train_verbalizer`.

    Raises:
        BgrError: a setting, the knowledge base or the run folder cannot be used.
    """
    more = _init(options.init)
    if options.seed is not None:
        more.append(f"--data.seed={options.seed}")
    run = _run(options, find_config(options.config), options.kqapro, *more, resume=options.resume)
    return Training(run.out, train_verbalizer(run, overwrite=options.overwrite))


def _init(source: str | None) -> list[str]:
    return [] if source is None else [f"--model.init={source}"]


def _run(options: TrainOptions, config: Path, data: Path, *more: str, resume: bool, states: Path | None = None) -> Run:
    """The run, with the settings given next to the config."""
    settings = overrides(options.settings)
    if options.seed is not None:
        settings.append(f"--seed_everything={options.seed}")
    return Run(config, data, options.out, [*settings, *more], resume, states)
