"""From a config and the command line to module, data and trainer, by LightningCLI; what is wrong there, in one line."""

from __future__ import annotations

import contextlib
import logging
import warnings
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import torch
from jsonargparse import ArgumentError
from lightning.fabric.utilities.exceptions import MisconfigurationException
from lightning.pytorch import LightningDataModule, LightningModule
from lightning.pytorch.callbacks import Callback
from lightning.pytorch.cli import LightningArgumentParser, LightningCLI
from lightning.pytorch.loggers import CSVLogger, TensorBoardLogger
from transformers.utils import logging as transformers_logging

from bgr.errors import BgrError
from bgr.utils.devices import fast_bfloat16, pick_device
from training.callbacks.checkpoints import AtomicFiles, KeepCheckpoints
from training.callbacks.stops import EarlyStop, StopAtNotFinite
from training.data_module import BgrDataModule
from training.retriever.module import BgrModule
from training.run import Run

_SHAPING = (
    *("max_epochs", "max_steps", "precision", "accumulate_grad_batches", "gradient_clip_val"),
    *("gradient_clip_algorithm", "limit_train_batches", "limit_val_batches", "check_val_every_n_epoch"),
)
"""The trainer's settings that change what comes out."""


class RetrieverCLI(LightningCLI):
    """With two more sections: ``checkpoint`` (`KeepCheckpoints`) and ``early_stop`` (`EarlyStop`)."""

    def add_arguments_to_parser(self, parser: LightningArgumentParser) -> None:
        parser.add_lightning_class_args(KeepCheckpoints, "checkpoint")
        parser.add_lightning_class_args(EarlyStop, "early_stop")

    @property
    def keeper(self) -> KeepCheckpoints:
        """The trainer's callback that writes its checkpoints."""
        return next(c for c in self.trainer.checkpoint_callbacks if isinstance(c, KeepCheckpoints))


def parse(run: Run, direction: str, home: Path, *callbacks: Callback) -> RetrieverCLI:
    """Read a retriever's config; every unknown key or value of a wrong type is one line and nothing is written.

    A config that says nothing of precision gets bfloat16 where the device is fast at it.
    """
    return lightning_cli(
        run,
        BgrModule,
        BgrDataModule,
        home,
        *callbacks,
        StopAtNotFinite(direction),
        cli=RetrieverCLI,
        settings=[f"--model.direction={direction}", f"--checkpoint.folder={home / 'epochs'}"],
        precision="bf16-mixed" if fast_bfloat16(pick_device()) else "32-true",
        # the data module shares the questions out by itself
        use_distributed_sampler=False,
    )


def shaping(cli: LightningCLI) -> dict[str, Any]:
    """The settings that change what comes out: two runs that share them give the same weights."""
    config = cli.config.as_dict()
    return {
        "seed": config["seed_everything"],
        "model": config["model"],
        "data": config["data"],
        "early_stop": config["early_stop"],
        "trainer": {name: config["trainer"][name] for name in _SHAPING},
    }


def lightning_cli(
    run: Run,
    module: type[LightningModule],
    data: type[LightningDataModule],
    home: Path,
    *callbacks: Callback,
    cli: type[LightningCLI] = LightningCLI,
    settings: Sequence[str] = (),
    **trainer: Any,
) -> Any:
    """Module, data and trainer as the config and the command line say, with CSV and TensorBoard logs under `home`.

    Args:
        run: what to train.
        module, data: the classes that the config's sections describe.
        home: root of logs and checkpoints.
        callbacks: of the trainer.
        cli: what reads the settings.
        settings: on top of the config, below the command line.
        trainer: defaults of the trainer, where the config says nothing.

    Returns:
        An instance of `cli`.

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
    torch.utils.deterministic.fill_uninitialized_memory = False  # type: ignore[attr-defined]
    with one_line_errors(run.config):
        return cli(
            module,
            data,
            args=arguments,
            run=False,
            save_config_callback=None,
            parser_kwargs={"exit_on_error": False},
            trainer_defaults={
                "callbacks": list(callbacks),
                "logger": [
                    CSVLogger(home, name="", version=_unused(home, "csv")),
                    TensorBoardLogger(home, name="", version="tb"),
                ],
                "plugins": [AtomicFiles()],
                # on a CPU with several threads some gradients are else added up in whatever order the threads come
                "deterministic": pick_device().type == "cpu",
                **trainer,
            },
        )


def _unused(home: Path, name: str) -> str:
    """`name`, or with a number where that folder exists: Lightning's CSV logger deletes what an earlier start wrote."""
    names = (name if number == 1 else f"{name}-{number}" for number in range(1, 1_000_000))
    return next(free for free in names if not (home / free).exists())


def quiet_libraries() -> None:
    """Only what the user can act on: no advertisements, no reports on weights that are left out on purpose."""
    for name in ("lightning.pytorch", "lightning.fabric"):
        logging.getLogger(name).setLevel(logging.ERROR)
    transformers_logging.set_verbosity_error()
    warnings.filterwarnings("ignore", module="lightning")


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
