"""A checkpoint folder: both directions, the tokenizer, and the settings that belong to the pair.

::

    bgr.json                     format, rule, γ of each rule, data hash, dev and test metrics
    forward/  backward/          config.json, model.safetensors
    reader/                      if it answers too: see bgr.reader.reader
    tokenizer.json, …            the encoder's tokenizer
    README.md                    model card (exports only)
"""

from __future__ import annotations

import json
import math
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any

from transformers import AutoTokenizer

from bgr.errors import CheckpointError
from bgr.models.config import DIRECTIONS, BgrConfig
from bgr.models.loading import load_weights, read_config
from bgr.models.retriever import BgrRetriever
from bgr.retrievers.graph_hop.fusion import Calibration, Fusion
from bgr.utils.atomic_io import read_json
from bgr.utils.json_utils import one_line, shown
from bgr.utils.settings_file import read_settings

FORMAT = 1
SETTINGS = "bgr.json"

MOST_LOG_ODDS = 100
"""Greatest size of a calibration's numbers."""

_KINDS = {str: "a text", dict: "an object"}
_RANGES: dict[str, tuple[int, int]] = {
    "rows": (1, 1_000),
    "question_tokens": (3, 1_000_000),
    "fact_tokens": (3, 1_000_000),
    "max_paths": (1, 1_000_000),
    "max_depth": (1, 1_000_000),
    "context_layers": (0, 1_000),
    "num_hidden_layers": (1, 1_000),
}
"""What the weights do not tell of a configuration, and how many layers may be built to compare it with them."""


@dataclass(frozen=True)
class Settings:
    """What belongs to the pair of directions (``bgr.json``).

    Args:
        rule: reconstruction rule.
        gammas: each rule's γ, chosen on dev.
        fused_threshold: log-odds that an edge needs under `fused`, chosen on dev.
        calibration: by direction, the numbers of its `Calibration`, measured on dev.
        data_hash: of the dataset the pair was trained on.
        metrics: by split, metric and value.
        format: version of the folder's layout.
    """

    rule: str = "equation"
    gammas: dict[str, float] = field(default_factory=dict)
    fused_threshold: float = 0.0
    calibration: dict[str, dict[str, float]] = field(default_factory=dict)
    data_hash: str = ""
    metrics: dict[str, Any] = field(default_factory=dict)
    format: int = FORMAT

    def gamma(self, rule: str) -> float:
        """The rule's γ; ½ where none was chosen."""
        return self.gammas.get(rule, 0.5)

    @property
    def fusion(self) -> Fusion:
        """What `fused` needs besides γ; a direction without numbers keeps its own log-odds."""
        forward, backward = (Calibration(**self.calibration.get(direction, {})) for direction in DIRECTIONS)
        return Fusion(forward, backward, self.fused_threshold)

    def save(self, folder: Path) -> None:
        (folder / SETTINGS).write_text(json.dumps(asdict(self), indent=2, sort_keys=True) + "\n", encoding="utf-8")

    @classmethod
    def load(cls, folder: Path) -> Settings:
        """What a folder's ``bgr.json`` says.

        Raises:
            DataError: the file is missing or not JSON.
            CheckpointError: another format, or a field that is unknown or not of its type.
        """
        path = folder / SETTINGS
        settings = cls(**read_settings(path, cls, FORMAT, "checkpoint"))
        for name, kind in (
            ("rule", str),
            ("gammas", dict),
            ("data_hash", str),
            ("metrics", dict),
            ("calibration", dict),
        ):
            value = getattr(settings, name)
            if not isinstance(value, kind):
                raise CheckpointError(f"{path}: {name} is {shown(value)}, allowed: {_KINDS[kind]}")
        if not settings.rule.isidentifier() or len(settings.rule) > 40:
            raise CheckpointError(f"{path}: rule is {shown(settings.rule)}, allowed: the name of a rule")
        if not all(isinstance(g, int | float) and 0 <= g <= 1 for g in settings.gammas.values()):
            raise CheckpointError(
                f"{path}: gammas is {shown(settings.gammas)}, allowed: each rule's number from 0 to 1"
            )
        threshold = settings.fused_threshold
        if not isinstance(threshold, int | float) or not math.isfinite(threshold):
            raise CheckpointError(f"{path}: fused_threshold is {shown(threshold)}, allowed: a finite number")
        _check_calibration(path, settings.calibration)
        return settings


def _check_calibration(path: Path, calibration: dict[str, Any]) -> None:
    names = [f.name for f in fields(Calibration)]
    for direction, numbers in calibration.items():
        if direction not in DIRECTIONS or not isinstance(numbers, dict) or not set(numbers) <= set(names):
            allowed = f"{', '.join(names)} of {', '.join(DIRECTIONS)}"
            raise CheckpointError(f"{path}: calibration is {shown(calibration)}, allowed: {allowed}")
        for name, value in numbers.items():
            if type(value) not in (int, float) or not abs(value) <= MOST_LOG_ODDS:
                allowed = f"numbers from {-MOST_LOG_ODDS} to {MOST_LOG_ODDS}"
                raise CheckpointError(f"{path}: {name} of {direction} is {shown(value)}, allowed: {allowed}")


def load_retriever(folder: Path, direction: str) -> BgrRetriever:
    """One direction in evaluation mode, in float32, every tensor checked against its configuration.

    Raises:
        CheckpointError: a file is missing or damaged, or a tensor is missing, left over, or of another size.
    """
    home = folder / direction
    for name in ("config.json", "model.safetensors"):
        if not (home / name).is_file():
            raise CheckpointError(f"{home / name}: no such file; a checkpoint holds {', '.join(DIRECTIONS)}")
    model: BgrRetriever = load_weights(home, BgrRetriever, _read_config(home / "config.json", direction))
    return model


def _read_config(path: Path, direction: str) -> BgrConfig:
    config = read_config(path, BgrConfig)
    if config.direction != direction:
        raise CheckpointError(f"{path}: direction is {config.direction!r}, expected {direction!r}")
    for name, (low, high) in _RANGES.items():
        value = getattr(config.encoder if name == "num_hidden_layers" else config, name)
        if type(value) is not int or not low <= value <= high:
            raise CheckpointError(f"{path}: {name} is {shown(value)}, allowed: integers from {low} to {high}")
    for name in ("threshold", "dropout"):
        value = getattr(config, name)
        if type(value) not in (int, float) or not 0 <= value <= 1:
            raise CheckpointError(f"{path}: {name} is {shown(value)}, allowed: numbers from 0 to 1")
    return config


def load_tokenizer(folder: Path, words: int | None = None) -> Any:
    """The tokenizer kept in the folder; nothing is looked up elsewhere.

    Args:
        folder: the checkpoint.
        words: rows of the encoder's table of words, which the tokenizer must not exceed.

    Raises:
        CheckpointError: it is missing, damaged, or knows too many words.
    """
    if not (folder / "tokenizer.json").is_file():
        raise CheckpointError(f"{folder / 'tokenizer.json'}: no such file")
    if not isinstance(read_json(folder / "tokenizer.json"), dict):
        raise CheckpointError(f"{folder / 'tokenizer.json'}: must hold an object")
    try:
        tokenizer = AutoTokenizer.from_pretrained(folder, local_files_only=True)
    except Exception as error:  # the tokenizers library raises no class of its own
        raise CheckpointError(f"{folder}: the tokenizer cannot be read: {one_line(error)}") from None
    most = max(tokenizer.get_vocab().values(), default=-1)
    if words is not None and most >= words:
        raise CheckpointError(f"{folder / 'tokenizer.json'}: a word has number {most}, the encoder knows {words} words")
    return tokenizer
