"""Module, data and trainer from a config and the command line (LightningCLI), and the training of a retriever."""

from __future__ import annotations

import contextlib
import itertools
import logging
import re
import shutil
import sys
import warnings
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, Literal

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
from bgr.utils.error_text import did_you_mean
from bgr.utils.json_utils import repr_short
from training.callbacks import AtomicFiles, Cached, EarlyStop, KeepCheckpoints, Report, StopAtNotFinite, Truncated
from training.data_module import BgrDataModule
from training.run import Run, first_process, read_checkpoint

RULE = Literal["equation", "intersection", "released", "forward", "backward", "fused"] | None

_RESULT_SETTINGS = (
    *("max_epochs", "max_steps", "precision", "accumulate_grad_batches", "gradient_clip_val"),
    *("gradient_clip_algorithm", "limit_train_batches", "limit_val_batches", "check_val_every_n_epoch"),
)
"""Settings of the trainer that affect the result."""


MATMUL = Literal["highest", "high", "medium"] | None


class SuggestingCLI(LightningCLI):
    """LightningCLI whose errors on unknown settings name the setting that was probably meant, and whose defaults of
    precision follow the device that is trained on, not the devices that there are.

    One more setting, ``float32_matmul_precision``, is that of `torch.set_float32_matmul_precision`: by default ``high``
    on CUDA (TF32: float32 products with 10 bits of mantissa, several times as fast), and PyTorch's on other devices.

    Args:
        mixed: train in ``bf16-mixed`` by default if it is faster on the device (`_gains`).
    """

    def __init__(self, *args: Any, mixed: bool = False, **settings: Any) -> None:
        self.mixed = mixed
        super().__init__(*args, **settings)

    def add_arguments_to_parser(self, parser: LightningArgumentParser) -> None:
        parser.add_argument("--float32_matmul_precision", type=MATMUL, default=None)

    def before_instantiate_classes(self) -> None:
        device, trainer = _device_of(self.config.trainer.accelerator), self.config.trainer
        if trainer.max_epochs == -1 and trainer.max_steps == -1:
            problem = "give a number, or max_steps: the learning rates fall to 0 over all steps"
            raise ValueError(f"trainer.max_epochs is -1: {problem}")
        if trainer.precision is None:
            trainer.precision = "bf16-mixed" if self.mixed and self._gains(device) else "32-true"
        if trainer.deterministic is None:
            # on a CPU with several threads, some gradients would otherwise be summed in random order
            trainer.deterministic = device.type == "cpu"
        products = self.config.float32_matmul_precision or ("high" if device.type == "cuda" else None)
        if products:
            torch.set_float32_matmul_precision(products)

    def _gains(self, device: torch.device) -> bool:
        """Whether 16 bits save time. On a CPU over a frozen encoder, the conversions of small matrices take longer than
        their products save."""
        return fast_bfloat16(device) and not (device.type == "cpu" and self.config.model.get("frozen_layers"))

    def parse_arguments(self, parser: LightningArgumentParser, args: Any) -> None:
        try:
            super().parse_arguments(parser, args)
        except ArgumentError as error:
            known = [action.dest for action in parser._actions if not action.dest.endswith(".help")]
            raise ArgumentError(None, f"{error}{_suggestion(str(error), known)}") from error


def _suggestion(message: str, known: Sequence[str]) -> str:
    """The setting that was probably meant, if the message is on an unknown one."""
    if found := re.match(r"Group '(.+?)' does not accept option '(.+?)'", message):
        return did_you_mean(f"{found[1]}.{found[2].removeprefix(f'{found[1]}.')}", known)
    if found := re.match(r"Option '(.+?)' is not accepted", message):
        return did_you_mean(found[1], known)
    if found := re.match(r"unrecognized arguments: --([^ =]+)", message):
        return did_you_mean(found[1], known)
    return ""


def _device_of(accelerator: Any) -> torch.device:
    """The device of a trainer's accelerator, by its name or the path of its class, before there is a trainer."""
    name = str(accelerator if isinstance(accelerator, str) else accelerator.class_path).lower()
    named = next((kind for kind in ("cpu", "mps") if kind in name), None)
    return torch.device(named) if named else pick_device()


def training_device(cli: LightningCLI) -> torch.device:
    """The device of this process: what is computed before and after the training is computed there too. Lightning
    moves a model to it only for the training."""
    device: torch.device = cli.trainer.strategy.root_device
    return device


class RetrieverCLI(SuggestingCLI):
    """LightningCLI with two more sections: ``checkpoint`` (`KeepCheckpoints`) and ``early_stop`` (`EarlyStop`)."""

    def add_arguments_to_parser(self, parser: LightningArgumentParser) -> None:
        super().add_arguments_to_parser(parser)
        parser.add_lightning_class_args(KeepCheckpoints, "checkpoint")
        parser.add_lightning_class_args(EarlyStop, "early_stop")


class BgrCLI(RetrieverCLI):
    """For both directions of BGR, with the reconstruction ``rule`` of the pair; ``null`` chooses it on dev."""

    def add_arguments_to_parser(self, parser: LightningArgumentParser) -> None:
        super().add_arguments_to_parser(parser)
        parser.add_argument("--rule", type=RULE, default=None)


def retriever_cli(
    run: Run,
    module: type[LightningModule],
    name: str,
    *callbacks: Callback,
    settings: Sequence[str] = (),
    kind: type[RetrieverCLI] = RetrieverCLI,
    data: type[BgrDataModule] = BgrDataModule,
) -> RetrieverCLI:
    """Read the config of a model over a pretrained encoder; nothing is written. See `lightning_cli`.

    `name` is its direction or kind of baseline, for the folder of logs and checkpoints and as the prefix of messages.
    The default precision is bfloat16 if it is faster on the device.
    """
    cli: RetrieverCLI = lightning_cli(
        run,
        module,
        data,
        run.home(name),
        *callbacks,
        StopAtNotFinite(name),
        cli=kind,
        settings=[*settings, f"--checkpoint.folder={run.home(name) / 'epochs'}"],
        mixed=True,
        # the data module distributes the questions itself
        use_distributed_sampler=False,
    )
    return cli


def result_settings(cli: LightningCLI) -> dict[str, Any]:
    """The settings that affect the result: two runs with equal settings give the same weights."""
    config = cli.config.as_dict()
    trainer = {name: config["trainer"][name] for name in _RESULT_SETTINGS}
    sections = {name: config[name] for name in ("model", "data", "early_stop")}
    sections["data"] = {name: value for name, value in sections["data"].items() if name != "workers"}
    products = config["float32_matmul_precision"]
    chosen = {} if products is None else {"float32_matmul_precision": products}
    return {"seed": config["seed_everything"], **sections, "trainer": trainer, **chosen}


def lightning_cli(
    run: Run,
    module: type[LightningModule],
    data: type[LightningDataModule],
    home: Path,
    *callbacks: Callback,
    cli: type[SuggestingCLI] = SuggestingCLI,
    settings: Sequence[str] = (),
    mixed: bool = False,
    **trainer: Any,
) -> Any:
    """Create module, data and trainer from the config and the command line, with CSV and TensorBoard logs in `home`.
    `cli` is the class that reads the settings and is returned; `settings` override the config and are overridden by the
    command line, and `trainer` has defaults of the trainer; for `mixed` see `SuggestingCLI`.

    Raises:
        BgrError: a key is unknown or a value is not allowed; the message is one line.
    """
    files = [f"--config={run.config}", f"--data.folder={run.data}", f"--trainer.default_root_dir={home}"]
    # Lightning's CSV logger would delete the logs of an earlier start
    names = itertools.chain(["csv"], (f"csv-{number}" for number in itertools.count(2)))
    logs = next(name for name in names if not (home / name).exists())
    _silence_libraries()
    torch.utils.deterministic.fill_uninitialized_memory = False  # type: ignore[attr-defined]
    with one_line_errors(run.config):
        return cli(
            module,
            data,
            args=[*files, *settings, *run.overrides],
            run=False,
            save_config_callback=None,
            mixed=mixed,
            parser_kwargs={"exit_on_error": False, "allow_abbrev": False},
            trainer_defaults={
                "callbacks": list(callbacks),
                "logger": [CSVLogger(home, name="", version=logs), TensorBoardLogger(home, name="", version="tb")],
                "plugins": [AtomicFiles()],
                # a file keeps every state of a bar; `Reporter` writes lines instead
                "enable_progress_bar": sys.stderr.isatty(),
                **trainer,
            },
        )


def _silence_libraries() -> None:
    """Silence messages that users cannot act on, such as advertisements and reports on weights left out on purpose."""
    for name in ("lightning.pytorch", "lightning.fabric"):
        logging.getLogger(name).setLevel(logging.ERROR)
    transformers_logging.set_verbosity_error()
    transformers_logging.disable_progress_bar()  # weights load and save in a moment
    warnings.filterwarnings("ignore", module="lightning")


@contextlib.contextmanager
def one_line_errors(config: Path) -> Iterator[None]:
    """Convert LightningCLI's errors about settings to a `BgrError` that names the file."""
    try:
        with warnings.catch_warnings():
            # jsonargparse cannot serialize loggers, and LightningCLI expects sys.argv; neither matters here
            warnings.simplefilter("ignore")
            yield
    except (ArgumentError, MisconfigurationException, ValueError, TypeError, RecursionError) as error:
        # an error on the command line is not one of the file
        where = "" if "unrecognized arguments" in str(error) else f"{config}: "
        raise BgrError(f"{where}{_plain(str(error))}") from error


_OF_NO_KIND = re.compile(
    r'Parser key "(?P<key>[^"]+)":\s+Does not validate against any of the Union subtypes.*'
    r"Given value type:.*Given value:\s+(?P<value>.*)",
    re.S,
)


def _plain(problem: str) -> str:
    """An error of jsonargparse in the form of ours, if it is about a value that may be of several kinds."""
    found = _OF_NO_KIND.search(problem)
    kinds = ["null" if name == "NoneType" else name for name in re.findall(r"Expected an? <class '(\w+)'>", problem)]
    if found is None or not kinds:
        return problem
    return f"{found['key']} is {repr_short(found['value'].strip())}, allowed: {', '.join(kinds)}"


def prepare(run: Run, cli: RetrieverCLI, name: str, report: Report | None) -> Any:
    """Tokenize the data, cache the states of the frozen layers, computed on the training device, and return the
    tokenizer. `report`, if there is one, is called with the number of truncated texts and the use of the cache."""
    cli.model.to(training_device(cli))
    tokenizer = AutoTokenizer.from_pretrained(resolve_model(cli.model.hparams["encoder"]))
    cli.datamodule.prepare(tokenizer, cli.model.model, run.states_folder)
    if report is not None and first_process():
        report(Truncated(name, cli.datamodule.truncation))
        if cli.datamodule.cache_use is not None:
            report(Cached(name, cli.datamodule.cache_use))
    return tokenizer


def fit(run: Run, cli: LightningCLI, last: Path) -> None:
    """Train, with ``run.resume`` from the checkpoint `last` if it exists.

    Raises:
        BgrError: it cannot be read, or is of a model of other sizes.
    """
    resume = last if run.resume and last.exists() else None
    if resume is not None:
        read_checkpoint(resume)
    try:
        cli.trainer.fit(cli.model, datamodule=cli.datamodule, ckpt_path=resume, weights_only=True)
    except RuntimeError as error:
        if resume is None or "Error(s) in loading state_dict" not in str(error):
            raise
        problem = "is of a model with other settings; give those again, or --overwrite to start again"
        raise BgrError(f"{resume}: {problem}") from error


def fit_retriever(
    run: Run, parse: Callable[[Run], RetrieverCLI], name: str, report: Report | None
) -> RetrieverCLI | None:
    """Train the retriever that `parse` reads from the config, save its tokenizer, and load the weights of the best
    epoch, averaged with those of its beginning. `name` is its direction or kind; for `report` see `prepare`.

    Returns:
        The trained module, on the training device, with its data; ``None`` in processes that do not write.
    """
    if not run.resume and first_process():
        # checkpoints of an earlier training, which --resume must not use
        shutil.rmtree(run.home(name), ignore_errors=True)
    cli = parse(run)
    tokenizer = prepare(run, cli, name, report)
    keeper = next(c for c in cli.trainer.checkpoint_callbacks if isinstance(c, KeepCheckpoints))
    fit(run, cli, keeper.last)
    if not first_process():
        return None
    cli.model.load_state_dict(cli.model.frozen() | keeper.best_weights())
    cli.model.average()
    cli.model.to(training_device(cli))  # Lightning has moved it to the CPU
    cli.model.model.eval()
    tokenizer.save_pretrained(run.out)
    return cli
