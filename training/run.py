"""A training run: its settings, its folder and its finished parts; checks of numeric settings.

Training checkpoints (``*.ckpt``) are read as untrusted files: PyTorch does not see flipped bits, and pickles may hold
code.
"""

from __future__ import annotations

import json
import os
import pickle
import shutil
import sys
import zipfile
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import torch
import yaml
from lightning.fabric.utilities import rank_zero

from bgr import __version__
from bgr.data.reasongraphqa.io.dataset import dataset_hash
from bgr.errors import BgrError, DataError
from bgr.utils.atomic_io import is_empty, read_json, write_text
from bgr.utils.cache import cache_folder, writable_folder
from bgr.utils.hashing import hash_files
from bgr.utils.json_utils import repr_short

FINISHED = "finished.json"

STARTED = "started.json"
"""Version, config, settings and data of a run, in its folder ``training``; written before the first step."""

_DAMAGED = (
    OSError,
    zipfile.BadZipFile,
    pickle.UnpicklingError,
    RuntimeError,
    EOFError,
    KeyError,
    ValueError,
    TypeError,
)


@dataclass(frozen=True)
class Run:
    """Settings of a training run: a YAML file, a dataset folder, and the run folder `out`, which is also a checkpoint
    folder when the run is complete. `overrides` are further settings as on the command line, for example
    ``["--trainer.max_epochs=3"]``. `states` is the cache of the states of frozen layers, by default inside the run
    folder; see `with_states`."""

    config: Path
    data: Path
    out: Path
    overrides: Sequence[str] = ()
    resume: bool = False
    states: Path | None = None

    @property
    def states_folder(self) -> Path:
        return self.states or self.out / "training" / "states"

    @property
    def started(self) -> Path:
        return self.out / "training" / STARTED

    @property
    def data_hash(self) -> str:
        """SHA-256 of the dataset, or of the knowledge base of a verbalizer; DataError if it cannot be read."""
        if (self.data / "kb.json").is_file():
            return hash_files(self.data, ["kb.json"])
        return dataset_hash(self.data)

    def home(self, direction: str) -> Path:
        """Logs and training checkpoints of a direction."""
        return self.out / "training" / direction


def with_states(run: Run, states: Path | None, settings: dict[str, Any]) -> Run:
    """The run with its cache of states: `states`, or else the folder that all runs share (`cache_folder`).

    If the folder in the user's home cannot be written, the run folder is used, with a message. Nothing happens if the
    settings have no frozen layers.

    Raises:
        BgrError: a folder that was chosen, as an option or by ``BGR_CACHE``, cannot be written.
    """
    if not settings.get("model", {}).get("frozen_layers"):
        return run
    shared = cache_folder()
    folder = states or (shared / "states" if shared else None)
    problem = "there is no home folder" if folder is None else writable_folder(folder)
    if not problem:
        return replace(run, states=folder)
    if states is not None:
        raise BgrError(f"--states {states}: cannot be written: {problem}")
    if "BGR_CACHE" in os.environ:
        raise BgrError(f"BGR_CACHE={shared}: cannot be written: {problem}; change it or give --states DIR")
    if first_process():
        print(
            f"the states of frozen layers are kept in {run.states_folder}, because {folder} cannot be written: "
            f"{problem}; --states DIR chooses another folder",
            file=sys.stderr,
        )
    return run


def read_config_file(run: Run) -> dict[str, Any]:
    """The content of the config, without the settings of the command line; empty if it is not a mapping.

    Raises:
        BgrError: the config cannot be read.
    """
    try:
        record = yaml.safe_load(run.config.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, yaml.YAMLError, RecursionError) as error:
        raise BgrError(f"{run.config}: cannot be read: {error}") from None
    return record if isinstance(record, dict) else {}


def first_process() -> bool:
    """Return true in the process of global rank 0, the only one that writes."""
    return int(getattr(rank_zero.rank_zero_only, "rank", 0) or 0) == 0


def check_folder(run: Run, *, overwrite: bool, alone: bool = False) -> None:
    """Check that the run folder may be written; it may contain the other direction if one is trained `alone`.

    Raises:
        BgrError: the folder is not empty, and none of `overwrite`, `resume` and `alone` allows that; or it was started
            on other data.
    """
    if run.out.exists() and not run.out.is_dir():
        raise BgrError(f"{run.out}: is a file, allowed: a folder")
    allowed = overwrite or run.resume or alone
    if first_process() and not allowed and run.out.exists() and not is_empty(run.out):
        raise BgrError(f"{run.out}: exists already; give --resume to resume or --overwrite to start again")
    if first_process() and not overwrite:
        _check_data(run)


def _check_data(run: Run) -> None:
    """Check that what is in the run folder was trained on the same data; folders of older versions do not say."""
    if not run.started.is_file():
        return
    record = read_json(run.started)
    before = record.get("data_sha256") if isinstance(record, dict) else None
    if not isinstance(before, str):
        raise DataError(f"{run.started}: does not name the data; give --overwrite to start again")
    if before != run.data_hash:
        raise BgrError(
            f"{run.out}: was started on other data ({repr_short(record.get('data'))}, SHA-256 {before[:12]}…) than "
            f"{run.data} has now; give the same data, or --overwrite to start again"
        )


def prepare_folder(run: Run, *, overwrite: bool) -> None:
    """Create the run folder after `check_folder`, or replace it with `overwrite`. Only the first process does this."""
    if not first_process():
        return
    if overwrite and run.out.exists():
        shutil.rmtree(run.out)
    run.started.parent.mkdir(parents=True, exist_ok=True)
    about = {"version": __version__, "config": str(run.config), "settings": list(run.overrides), "data": str(run.data)}
    write_record(run.started, {**about, "data_sha256": run.data_hash})


def mark_finished(run: Run, direction: str, settings: dict[str, Any]) -> None:
    """Record that a direction is trained and saved, with its settings."""
    write_record(run.home(direction) / FINISHED, settings)


def is_finished(run: Run, direction: str, settings: dict[str, Any]) -> bool:
    """Return true if a direction was trained and saved with exactly these settings."""
    mark = run.home(direction) / FINISHED
    try:
        return (run.out / direction / "model.safetensors").is_file() and read_json(mark) == settings
    except DataError:
        return False


def write_record(path: Path, record: Any) -> None:
    """Write a small JSON file with sorted keys, completely or not at all."""
    write_text(path, json.dumps(record, indent=2, sort_keys=True) + "\n")


def at_least(minimum: float, **settings: float) -> None:
    """Check that each setting is a number of at least `minimum`, and small enough for arithmetic in float32.

    Raises:
        ValueError: a setting is not.
    """
    for name, value in settings.items():
        if not minimum <= value <= 1e30:
            raise ValueError(f"{name} is {value}, allowed: {minimum} or more, up to 1e30")


def share(**settings: float) -> None:
    """Check that each setting is a number from 0 to 1.

    Raises:
        ValueError: a setting is not.
    """
    for name, value in settings.items():
        if not 0 <= value <= 1:
            raise ValueError(f"{name} is {value}, allowed: 0 to 1")


def read_checkpoint(path: Path) -> dict[str, Any]:
    """The content of a checkpoint, with its tensors mapped from the file.

    Raises:
        BgrError: the file is missing or damaged, has code, or is none of Lightning's checkpoints.
    """
    try:
        with zipfile.ZipFile(path) as file:
            bad = file.testzip()  # compares the checksum of each part
        found = None if bad else torch.load(path, map_location="cpu", weights_only=True, mmap=True)
    except _DAMAGED:
        found = None
    if not isinstance(found, dict) or not isinstance(found.get("state_dict"), dict):
        raise BgrError(f"{path}: is missing, damaged, or no checkpoint of a training; --overwrite trains again")
    return found
