"""Train the retriever: one direction at a time, then calibrate the pair on dev."""

from __future__ import annotations

import contextlib
import logging
import shutil
import sys
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import torch
from jsonargparse import ArgumentError
from lightning.fabric.utilities.exceptions import MisconfigurationException
from lightning.pytorch import LightningDataModule, LightningModule
from lightning.pytorch.accelerators import CPUAccelerator
from lightning.pytorch.callbacks import Callback, ModelCheckpoint
from lightning.pytorch.cli import LightningCLI
from lightning.pytorch.loggers import CSVLogger, TensorBoardLogger
from transformers import AutoTokenizer
from transformers.utils import logging as transformers_logging

from bgr.checkpoint import Settings, load_retriever
from bgr.devices import fast_bfloat16, pick_device
from bgr.errors import BgrError
from bgr.models.config import DIRECTIONS
from bgr.models.decode import EXPLORE
from bgr.models.source import resolve_model
from bgr.reasongraphqa.dataset import dataset_hash
from bgr.reconstruction import BIDIRECTIONAL
from training.calibrate import best_merge, best_threshold, decode_dev, dev_metrics
from training.data_module import BgrDataModule
from training.retriever_module import BgrModule
from training.side_by_side import Epoch, Reporter, in_processes

QUIET = "--trainer.enable_progress_bar=false"


@dataclass(frozen=True)
class Run:
    """What to train and where.

    Args:
        config: YAML file.
        data: dataset folder.
        out: run folder; also a checkpoint folder when all is done.
        overrides: further settings as on the command line, e.g. ``["--trainer.max_epochs=3"]``.
        resume: go on from the last epoch that was finished.
    """

    config: Path
    data: Path
    out: Path
    overrides: Sequence[str] = ()
    resume: bool = False


def train_direction(run: Run, direction: str, report: Callable[[Epoch], None]) -> None:
    """Train one direction and save its best epoch to ``out/DIRECTION``; `report` hears of every epoch."""
    home = run.out / "training" / direction
    cli = _parse(run, direction, home, Reporter(direction, report))
    module: BgrModule = cli.model
    data: BgrDataModule = cli.datamodule
    tokenizer = _prepare(run, module, data)
    last = home / "epochs" / "last.ckpt"
    cli.trainer.fit(
        module, datamodule=data, ckpt_path=last if run.resume and last.exists() else None, weights_only=True
    )
    best = torch.load(_checkpoints(cli).best_model_path, map_location="cpu", weights_only=True)
    module.load_state_dict(best["state_dict"])
    module.model.eval()
    module.model.config.threshold = best_threshold(module.model, data)
    module.model.save_pretrained(run.out / direction)
    tokenizer.save_pretrained(run.out)


def prepare_states(run: Run, direction: str, _: Callable[[Epoch], None]) -> None:
    """What `train_direction` would do first: write the frozen layers' states to the run folder."""
    cli = _parse(run, direction, run.out)
    _prepare(run, cli.model, cli.datamodule)


def _prepare(run: Run, module: BgrModule, data: BgrDataModule) -> Any:
    """Tokenise the data and keep the frozen layers' states; returns the tokenizer."""
    tokenizer = AutoTokenizer.from_pretrained(resolve_model(module.hparams["encoder"]))
    data.prepare(tokenizer, module.model, run.out / "training" / "states")
    return tokenizer


def calibrate_pair(run: Run) -> dict[str, Any]:
    """Choose γ of each rule, the threshold of `fused`, and the rule on dev, for the two directions in ``out``; write
    ``bgr.json`` and return the dev metrics."""
    cli = _parse(run, "forward", run.out / "training" / "calibration")
    data: BgrDataModule = cli.datamodule
    tokenizer = AutoTokenizer.from_pretrained(run.out, local_files_only=True)
    found, metrics = {}, {}
    for direction in DIRECTIONS:
        model = load_retriever(run.out, direction)
        data.prepare(tokenizer, model, run.out / "training" / "states")
        threshold = model.config.threshold
        found[direction] = decode_dev(model, data, [threshold], explore=EXPLORE)[threshold]
        metrics[direction] = dev_metrics([result.graph for result in found[direction]], data.splits["dev"])
    dev = data.splits["dev"]
    merges = {rule: best_merge(found["forward"], found["backward"], dev, rule=rule) for rule in BIDIRECTIONAL}
    metrics |= {rule: merge.metrics for rule, merge in merges.items()}
    Settings(
        rule=max(merges, key=lambda rule: merges[rule].metrics["score"]),
        gammas={rule: merge.gamma for rule, merge in merges.items()},
        fused_threshold=merges["fused"].threshold,
        data_hash=dataset_hash(run.data),
        metrics={"dev": metrics},
    ).save(run.out)
    return metrics


def quiet_libraries() -> None:
    """Only what the user can act on: no advertisements, no reports on weights that are left out on purpose."""
    for name in ("lightning.pytorch", "lightning.fabric"):
        logging.getLogger(name).setLevel(logging.ERROR)
    transformers_logging.set_verbosity_error()
    warnings.filterwarnings("ignore", module="lightning")


def _parse(run: Run, direction: str, home: Path, *callbacks: Callback) -> LightningCLI:
    """Read the config; every unknown key or value of a wrong type is one line and nothing is written.

    A config that says nothing of precision gets bfloat16 where the device is fast at it.
    """
    return lightning_cli(
        run,
        BgrModule,
        BgrDataModule,
        home,
        ModelCheckpoint(home / "epochs", monitor="dev/score", mode="max", save_last=True, enable_version_counter=False),
        *callbacks,
        settings=[f"--model.direction={direction}"],
        precision="bf16-mixed" if fast_bfloat16(pick_device()) else "32-true",
    )


def lightning_cli(
    run: Run,
    module: type[LightningModule],
    data: type[LightningDataModule],
    home: Path,
    *callbacks: Callback,
    settings: Sequence[str] = (),
    **trainer: Any,
) -> LightningCLI:
    """Module, data and trainer as the config and the command line say, with CSV and TensorBoard logs under `home`.

    Args:
        run: what to train.
        module, data: the classes that the config's sections describe.
        home: root of logs and checkpoints.
        callbacks: of the trainer.
        settings: on top of the config, below the command line.
        trainer: defaults of the trainer, where the config says nothing.

    Raises:
        BgrError: an unknown key or a value that is not allowed, in one line.
    """
    arguments = [
        f"--config={run.config}",
        f"--data.folder={run.data}",
        *settings,
        f"--trainer.default_root_dir={home}",
        *run.overrides,
    ]
    quiet_libraries()
    with one_line_errors(run.config):
        return LightningCLI(
            module,
            data,
            args=arguments,
            run=False,
            save_config_callback=None,
            parser_kwargs={"exit_on_error": False},
            trainer_defaults={
                "callbacks": list(callbacks),
                "logger": [CSVLogger(home, name="", version="csv"), TensorBoardLogger(home, name="", version="tb")],
                **trainer,
            },
        )


def _checkpoints(cli: LightningCLI) -> ModelCheckpoint:
    return next(c for c in cli.trainer.checkpoint_callbacks if isinstance(c, ModelCheckpoint))


@contextlib.contextmanager
def one_line_errors(config: Path) -> Iterator[None]:
    """What LightningCLI says of a wrong setting, as a `BgrError` that names the file."""
    try:
        with warnings.catch_warnings():
            # jsonargparse cannot write loggers down, and LightningCLI expects to own sys.argv; neither matters here
            warnings.simplefilter("ignore")
            yield
    except (ArgumentError, MisconfigurationException, ValueError, TypeError) as error:
        # what stands on the command line is not the file's
        where = "" if "unrecognized arguments" in str(error) else f"{config}: "
        raise BgrError(f"{where}{error}") from error


def train_retriever(run: Run, directions: Sequence[str] = DIRECTIONS) -> dict[str, Any]:
    """Train, keep the best epoch by dev score, calibrate. Returns the dev metrics by direction and rule."""
    on_cpu = isinstance(_parse(run, "forward", run.out).trainer.accelerator, CPUAccelerator)
    if len(directions) > 1 and on_cpu and torch.get_num_threads() > 1:
        # once for both, with all cores, and the memory it took is free again before they start
        in_processes(partial(prepare_states, run), directions[:1], bar=False)
        in_processes(partial(train_direction, replace(run, overrides=(*run.overrides, QUIET))), directions)
    else:
        for direction in directions:
            train_direction(run, direction, lambda epoch: print(epoch.line(), file=sys.stderr))
    if all((run.out / direction).is_dir() for direction in DIRECTIONS):
        return calibrate_pair(run)
    return {}


def check(run: Run) -> None:
    """Read config and data once before anything is written.

    Raises:
        BgrError: an unknown key, a value that is not allowed, or data that cannot be read.
    """
    cli = _parse(run, "forward", run.out)
    cli.datamodule.setup()


def prepare_folder(run: Run, *, overwrite: bool, alone: bool) -> None:
    """Make the run folder.

    Args:
        run: its `out` is the folder.
        overwrite: empty it first.
        alone: one direction is trained, and the other may already stand in the folder.

    Raises:
        BgrError: the folder holds something, and neither `overwrite`, `resume` nor `alone` says that this is meant.
    """
    if run.out.exists() and any(run.out.iterdir()):
        if overwrite:
            shutil.rmtree(run.out)
        elif not (run.resume or alone):
            raise BgrError(f"{run.out}: exists already; give --resume to go on or --overwrite to start anew")
    run.out.mkdir(parents=True, exist_ok=True)
