"""A checkpoint folder: both directions, the tokenizer, and the settings that belong to the pair.

::

    bgr.json                     format, rule, γ of each rule, data hash, dev and test metrics
    forward/  backward/          config.json, model.safetensors
    tokenizer.json, …            the encoder's tokenizer
    README.md                    model card (exports only)
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any

from safetensors import SafetensorError, safe_open
from transformers import AutoTokenizer

from bgr.errors import CheckpointError
from bgr.files import read_json
from bgr.models.config import DIRECTIONS, BgrConfig
from bgr.models.retriever import BgrRetriever

FORMAT = 1
SETTINGS = "bgr.json"


@dataclass(frozen=True)
class Settings:
    """What belongs to the pair of directions (``bgr.json``).

    Args:
        rule: reconstruction rule.
        gammas: each rule's γ, chosen on dev.
        data_hash: of the dataset the pair was trained on.
        metrics: by split, metric and value.
        format: version of the folder's layout.
    """

    rule: str = "equation"
    gammas: dict[str, float] = field(default_factory=dict)
    data_hash: str = ""
    metrics: dict[str, Any] = field(default_factory=dict)
    format: int = FORMAT

    def gamma(self, rule: str) -> float:
        """The rule's γ; ½ where none was chosen."""
        return self.gammas.get(rule, 0.5)

    def save(self, folder: Path) -> None:
        (folder / SETTINGS).write_text(json.dumps(asdict(self), indent=2, sort_keys=True) + "\n", encoding="utf-8")

    @classmethod
    def load(cls, folder: Path) -> Settings:
        record = read_json(folder / SETTINGS)
        if not isinstance(record, dict) or record.get("format") != FORMAT:
            raise CheckpointError(f"{folder / SETTINGS}: not a checkpoint of format {FORMAT}")
        unknown = sorted(set(record) - {f.name for f in fields(cls)})
        if unknown:
            raise CheckpointError(f"{folder / SETTINGS}: unknown field {unknown[0]!r}")
        gammas = record.get("gammas", {})
        if not isinstance(gammas, dict) or not all(isinstance(g, int | float) and 0 <= g <= 1 for g in gammas.values()):
            raise CheckpointError(f"{folder / SETTINGS}: gammas is {gammas!r}, allowed: each rule's number from 0 to 1")
        return cls(**record)


def load_retriever(folder: Path, direction: str) -> BgrRetriever:
    """One direction in evaluation mode, every tensor checked against its configuration.

    Raises:
        CheckpointError: a file is missing or damaged, or a tensor is missing, left over, or of another size.
    """
    home = folder / direction
    for name in ("config.json", "model.safetensors"):
        if not (home / name).is_file():
            raise CheckpointError(f"{home / name}: no such file; a checkpoint holds {', '.join(DIRECTIONS)}")
    try:
        config = BgrConfig.from_dict(read_json(home / "config.json"))
    except (TypeError, ValueError, AttributeError) as error:
        raise CheckpointError(f"{home / 'config.json'}: {error}") from None
    if config.direction != direction:
        raise CheckpointError(f"{home / 'config.json'}: direction is {config.direction!r}, expected {direction!r}")
    model = BgrRetriever(config)
    _check_sizes(model, home / "model.safetensors")
    model = BgrRetriever.from_pretrained(home, config=config, local_files_only=True, use_safetensors=True)
    return model.eval()


def _check_sizes(model: BgrRetriever, path: Path) -> None:
    expected = {name: list(tensor.shape) for name, tensor in model.state_dict().items()}
    try:
        with safe_open(path, framework="pt") as file:
            found = {name: file.get_slice(name).get_shape() for name in file.keys()}  # noqa: SIM118
    except (SafetensorError, OSError) as error:
        raise CheckpointError(f"{path}: not a whole safetensors file: {error}") from None
    for name in sorted(expected.keys() | found.keys()):
        if name not in found:
            raise CheckpointError(f"{path}: tensor {name} is missing")
        if name not in expected:
            raise CheckpointError(f"{path}: tensor {name} is not in the configuration")
        if expected[name] != found[name]:
            raise CheckpointError(f"{path}: tensor {name} is {found[name]}, the configuration says {expected[name]}")


def load_tokenizer(folder: Path) -> Any:
    """The tokenizer kept in the folder; nothing is looked up elsewhere."""
    if not (folder / "tokenizer.json").is_file():
        raise CheckpointError(f"{folder / 'tokenizer.json'}: no such file")
    try:
        return AutoTokenizer.from_pretrained(folder, local_files_only=True)
    except (OSError, ValueError) as error:
        raise CheckpointError(f"{folder}: the tokenizer cannot be read: {error}") from None
