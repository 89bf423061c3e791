"""A training run: its settings, its folder, and which of its parts are finished."""

from __future__ import annotations

import json
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lightning.fabric.utilities import rank_zero

from bgr.errors import BgrError, DataError
from bgr.utils.atomic_io import read_json, write_text


@dataclass(frozen=True)
class Run:
    """What to train and where.

    Args:
        config: YAML file.
        data: dataset folder.
        out: run folder; also a checkpoint folder when all is done.
        overrides: further settings as on the command line, e.g. ``["--trainer.max_epochs=3"]``.
        resume: go on from the last checkpoint.
        states: where the frozen layers' states are kept; ``None`` for a place in the run folder.
    """

    config: Path
    data: Path
    out: Path
    overrides: Sequence[str] = ()
    resume: bool = False
    states: Path | None = None

    @property
    def states_folder(self) -> Path:
        """Where the frozen layers' states are kept."""
        return self.states or self.out / "training" / "states"

    def home(self, direction: str) -> Path:
        """Logs and training checkpoints of a direction."""
        return self.out / "training" / direction


def first_process() -> bool:
    """Whether this is the process that writes: of several devices or nodes, the one of global rank 0."""
    return int(getattr(rank_zero.rank_zero_only, "rank", 0) or 0) == 0


def check_folder(run: Run, *, overwrite: bool, alone: bool = False) -> None:
    """Whether the run folder may be written to: asked before the data are read. Nothing is changed.

    Args:
        run: its `out` is the folder.
        overwrite: what it holds may go.
        alone: one direction is trained, and the other may already stand in the folder.

    Raises:
        BgrError: the folder holds something, and neither `overwrite`, `resume` nor `alone` says that this is meant.
    """
    if run.out.exists() and not run.out.is_dir():
        raise BgrError(f"{run.out}: is a file, a folder is needed")
    meant = overwrite or run.resume or alone
    if first_process() and not meant and run.out.exists() and any(run.out.iterdir()):
        raise BgrError(f"{run.out}: exists already; give --resume to go on or --overwrite to start anew")


def prepare_folder(run: Run, *, overwrite: bool) -> None:
    """Make the run folder once `check_folder` has passed it; anew with `overwrite`. In the first process alone."""
    if not first_process():
        return
    if overwrite and run.out.exists():
        shutil.rmtree(run.out)
    run.out.mkdir(parents=True, exist_ok=True)


def mark_finished(run: Run, direction: str, settings: dict[str, Any]) -> None:
    """Note that a direction is trained and saved, and with which settings."""
    write_record(_mark(run, direction), settings)


def is_finished(run: Run, direction: str, settings: dict[str, Any]) -> bool:
    """Whether a direction was trained and saved with just these settings; with others there is something left to do."""
    try:
        return (run.out / direction / "model.safetensors").is_file() and read_json(_mark(run, direction)) == settings
    except DataError:
        return False


def _mark(run: Run, direction: str) -> Path:
    return run.home(direction) / "finished.json"


def write_record(path: Path, record: Any) -> None:
    """Write a small JSON file with sorted keys, completely or not at all."""
    write_text(path, json.dumps(record, indent=2, sort_keys=True) + "\n")
