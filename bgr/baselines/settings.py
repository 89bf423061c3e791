"""What belongs to a baseline besides its weights."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from bgr.baselines.config import TRAINED
from bgr.baselines.keep import AllPaths, Keep, NearBest, TopFacts
from bgr.checkpoint import SETTINGS as BGR_SETTINGS
from bgr.errors import BgrError, CheckpointError
from bgr.json_text import shown
from bgr.settings_file import read_settings

FORMAT = 1
SETTINGS = "baseline.json"
SINGLE_HOP = ("bm25", "dpr", "random")
"""Baselines that are told how many facts to take."""
KINDS = tuple(sorted({*TRAINED, *SINGLE_HOP}))


@dataclass(frozen=True)
class BaselineSettings:
    """What dev chose (``baseline.json``).

    Args:
        kind: one of `KINDS`.
        k: number of facts, of those in `SINGLE_HOP`.
        margin: of `bgr.baselines.keep.NearBest`, for ``grr`` and ``mdr``.
        seed: of ``random``'s draws.
        data_hash: of the dataset it was trained on.
        metrics: by split, metric and value.
        format: version of the folder's layout.
    """

    kind: str
    k: int | None = None
    margin: float | None = None
    seed: int = 0
    data_hash: str = ""
    metrics: dict[str, Any] = field(default_factory=dict)
    format: int = FORMAT

    def save(self, folder: Path) -> None:
        (folder / SETTINGS).write_text(json.dumps(asdict(self), indent=2, sort_keys=True) + "\n", encoding="utf-8")

    @classmethod
    def load(cls, folder: Path) -> BaselineSettings:
        """What a folder's ``baseline.json`` says.

        Raises:
            DataError: the file is missing or not JSON.
            CheckpointError: the folder is no baseline's, has another format, or a field is unknown or out of range.
        """
        path = folder / SETTINGS
        if not path.is_file() and (folder / BGR_SETTINGS).is_file():
            raise CheckpointError(f"{folder}: a checkpoint of BGR; one of a baseline holds {SETTINGS}")
        record = read_settings(path, cls, FORMAT, "baseline")
        if "kind" not in record:
            raise CheckpointError(f"{path}: kind is missing")
        settings = cls(**record)
        if settings.kind not in KINDS:
            raise CheckpointError(f"{path}: kind is {shown(settings.kind)}, allowed: {', '.join(KINDS)}")
        if type(settings.seed) is not int:
            raise CheckpointError(f"{path}: seed is {shown(settings.seed)}, allowed: an integer")
        if not isinstance(settings.data_hash, str) or not isinstance(settings.metrics, dict):
            raise CheckpointError(f"{path}: data_hash must be a text and metrics an object")
        try:
            settings.keep()
        except BgrError as error:
            raise CheckpointError(f"{path}: {error}") from None
        return settings

    def keep(self) -> Keep:
        """What dev chose, as a rule."""
        if self.kind in SINGLE_HOP:
            if self.k is None:
                raise BgrError(f"k of {self.kind} is missing")
            return TopFacts(self.k)
        return AllPaths() if self.kind == "ssg" else NearBest(0.0 if self.margin is None else self.margin)
