"""Module, data and trainer from a config and the command line (LightningCLI), and the training of a retriever."""

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
from transformers import AutoTokenizer
from transformers.utils import logging as transformers_logging

from bgr.errors import BgrError
from bgr.models.packaged import resolve_model
from bgr.utils.devices import fast_bfloat16, pick_device
from training.callbacks.checkpoints import AtomicFiles, KeepCheckpoints
from training.callbacks.stops import EarlyStop, StopAtNotFinite
from training.data_module import BgrDataModule
from training.retriever.module import BgrModule
from training.run import Run, first_process

_RESULT_SETTINGS = (
    *("max_epochs", "max_steps", "precision", "accumulate_grad_batches", "gradient_clip_val"),
    *("gradient_clip_algorithm", "limit_train_batches", "limit_val_batches", "check_val_every_n_epoch"),
)
"""Settings of the trainer that affect the result."""


class RetrieverCLI(LightningCLI):
    """LightningCLI with two more sections: ``checkpoint`` (`KeepCheckpoints`) and ``early_stop`` (`EarlyStop`)."""

    def add_arguments_to_parser(self, parser: LightningArgumentParser) -> None:
        parser.add_lightning_class_args(KeepCheckpoints, "checkpoint")
        parser.add_lightning_class_args(EarlyStop, "early_stop")

    @property
    def keeper(self) -> KeepCheckpoints:
        """The callback that writes checkpoints."""
        return next(c for c in self.trainer.checkpoint_callbacks if isinstance(c, KeepCheckpoints))


def parse(run: Run, direction: str, home: Path, *callbacks: Callback) -> RetrieverCLI:
    """Read the config of a retriever without writing anything; an unknown key or invalid value is an error of one line.

    The default precision is bfloat16 if it is fast on the device.
    """
    return retriever_cli(run, BgrModule, direction, home, *callbacks, settings=[f"--model.direction={direction}"])


def retriever_cli(
    run: Run,
    module: type[LightningModule],
    name: str,
    home: Path,
    *callbacks: Callback,
    settings: Sequence[str] = (),
) -> RetrieverCLI:
    """Read the config of any trained retriever; see `lightning_cli`. `name` is the prefix of messages."""
    cli: RetrieverCLI = lightning_cli(
        run,
        module,
        BgrDataModule,
        home,
        *callbacks,
        StopAtNotFinite(name),
        cli=RetrieverCLI,
        settings=[*settings, f"--checkpoint.folder={home / 'epochs'}"],
        precision="bf16-mixed" if fast_bfloat16(pick_device()) else "32-true",
        # the data module distributes the questions itself
        use_distributed_sampler=False,
    )
    return cli


def result_settings(cli: LightningCLI) -> dict[str, Any]:
    """The settings that affect the result: two runs with equal settings give the same weights."""
    config = cli.config.as_dict()
    return {
        "seed": config["seed_everything"],
        "model": config["model"],
        "data": config["data"],
        "early_stop": config["early_stop"],
        "trainer": {name: config["trainer"][name] for name in _RESULT_SETTINGS},
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
    """Create module, data and trainer from the config and the command line, with CSV and TensorBoard logs in `home`.

    Args:
        run: the training run.
        module, data: the classes that the config configures.
        home: root folder of logs and checkpoints.
        callbacks: callbacks of the trainer.
        cli: class that reads the settings.
        settings: settings that override the config and are overridden by the command line.
        trainer: defaults of the trainer.

    Returns:
        An instance of `cli`.

    Raises:
        BgrError: a key is unknown or a value is not allowed; the message is one line.
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
                # on a CPU with several threads, some gradients would otherwise be summed in random order
                "deterministic": pick_device().type == "cpu",
                **trainer,
            },
        )


def _unused(home: Path, name: str) -> str:
    """`name`, with a number if that folder exists, because Lightning's CSV logger deletes earlier logs."""
    names = (name if number == 1 else f"{name}-{number}" for number in range(1, 1_000_000))
    return next(free for free in names if not (home / free).exists())


def quiet_libraries() -> None:
    """Silence messages that users cannot act on, such as advertisements and reports on weights left out on purpose."""
    for name in ("lightning.pytorch", "lightning.fabric"):
        logging.getLogger(name).setLevel(logging.ERROR)
    transformers_logging.set_verbosity_error()
    warnings.filterwarnings("ignore", module="lightning")


@contextlib.contextmanager
def one_line_errors(config: Path) -> Iterator[None]:
    """Convert LightningCLI's errors about settings to a `BgrError` that names the file."""
    try:
        with warnings.catch_warnings():
            # jsonargparse cannot serialize loggers, and LightningCLI expects sys.argv; neither matters here
            warnings.simplefilter("ignore")
            yield
    except (ArgumentError, MisconfigurationException, ValueError, TypeError) as error:
        # an error on the command line is not one of the file
        where = "" if "unrecognized arguments" in str(error) else f"{config}: "
        raise BgrError(f"{where}{error}") from error


def prepare(run: Run, cli: RetrieverCLI) -> Any:
    """Tokenize the data, cache the states of the frozen layers in the run folder, and return the tokenizer."""
    tokenizer = AutoTokenizer.from_pretrained(resolve_model(cli.model.hparams["encoder"]))
    cli.datamodule.prepare(tokenizer, cli.model.model, run.states_folder)
    return tokenizer


def fit(run: Run, cli: RetrieverCLI) -> None:
    """Train, from the last checkpoint with ``run.resume``, and load the weights of the best epoch into the model."""
    last = cli.keeper.last
    resume = last if run.resume and last.exists() else None
    cli.trainer.fit(cli.model, datamodule=cli.datamodule, ckpt_path=resume, weights_only=True)
    if first_process():
        cli.model.load_state_dict(cli.keeper.best_weights())
        cli.model.model.eval()
