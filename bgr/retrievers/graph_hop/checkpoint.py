"""A checkpoint folder: both directions, the tokenizer, and the settings that belong to the pair.

::

    bgr.json                     format, rule, γ of each rule, data hash, dev and test metrics
    forward/  backward/          config.json, model.safetensors
    reader/                      if it answers too: see bgr.reader.reader
    tokenizer.json, …            the encoder's tokenizer
    README.md                    model card (exports only)
"""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Annotated, Any

from pydantic import AfterValidator, Field, with_config
from transformers import AutoTokenizer
from typing_extensions import TypedDict

from bgr.errors import CheckpointError
from bgr.models.config import DIRECTIONS, BgrConfig
from bgr.models.loading import load_weights, read_config
from bgr.models.retriever import BgrRetriever
from bgr.retrievers.graph_hop.fusion import Calibration, Fusion
from bgr.utils.atomic_io import read_json
from bgr.utils.json_utils import one_line
from bgr.utils.settings import STRICT, load_settings, one_of, problems, save_settings

FORMAT = 1
SETTINGS = "bgr.json"

MAX_LOG_ODDS = 100
"""Greatest size of a calibration's numbers."""

Fraction = Annotated[float, Field(ge=0, le=1)]
LogOdds = Annotated[float, Field(ge=-MAX_LOG_ODDS, le=MAX_LOG_ODDS)]
_A_DIRECTION = AfterValidator(one_of(DIRECTIONS))
_A_NUMBER = AfterValidator(one_of([one.name for one in fields(Calibration)]))


@with_config(STRICT)
class _Limits(TypedDict):
    """Limits of the fields of a configuration that the weights do not determine, and of the number of layers that may
    be built to compare it with them."""

    rows: Annotated[int, Field(ge=1, le=1_000)]
    question_tokens: Annotated[int, Field(ge=3, le=1_000_000)]
    fact_tokens: Annotated[int, Field(ge=3, le=1_000_000)]
    max_paths: Annotated[int, Field(ge=1, le=1_000_000)]
    max_depth: Annotated[int, Field(ge=1, le=1_000_000)]
    context_layers: Annotated[int, Field(ge=0, le=1_000)]
    num_hidden_layers: Annotated[int, Field(ge=1, le=1_000)]
    threshold: Fraction
    dropout: Fraction


@dataclass(frozen=True)
class Settings:
    """Settings of the pair of directions (``bgr.json``).

    Args:
        rule: reconstruction rule.
        gammas: each rule's γ, chosen on dev.
        fused_threshold: log-odds that an edge needs under `fused`, chosen on dev.
        calibration: by direction, the numbers of its `Calibration`, measured on dev.
        data_hash: of the dataset the pair was trained on.
        metrics: by split, metric and value.
        format: version of the folder's layout.
    """

    __pydantic_config__ = STRICT

    rule: Annotated[str, Field(pattern=r"^[A-Za-z_][A-Za-z0-9_]{0,39}$")] = "equation"
    gammas: dict[str, Fraction] = field(default_factory=dict)
    fused_threshold: float = 0.0
    calibration: dict[Annotated[str, _A_DIRECTION], dict[Annotated[str, _A_NUMBER], LogOdds]] = field(
        default_factory=dict
    )
    data_hash: str = ""
    metrics: dict[str, Any] = field(default_factory=dict)
    format: int = FORMAT

    def gamma(self, rule: str) -> float:
        """The rule's γ; ½ where none was chosen."""
        return self.gammas.get(rule, 0.5)

    @property
    def fusion(self) -> Fusion:
        """Parameters of `fused` besides γ; a direction without numbers keeps its own log-odds."""
        forward, backward = (Calibration(**self.calibration.get(direction, {})) for direction in DIRECTIONS)
        return Fusion(forward, backward, self.fused_threshold)

    def save(self, folder: Path) -> None:
        save_settings(folder / SETTINGS, self)

    @classmethod
    def load(cls, folder: Path) -> Settings:
        """Read a folder's ``bgr.json``.

        Raises:
            DataError: the file is missing or not JSON.
            CheckpointError: another format, or fields that are unknown or not allowed.
        """
        return load_settings(folder / SETTINGS, cls, "checkpoint")


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
    values = {name: getattr(config, name, None) for name in _Limits.__annotations__}
    values["num_hidden_layers"] = config.encoder.num_hidden_layers
    if found := problems(_Limits, values):
        raise CheckpointError(f"{path}: {'; '.join(found)}")
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
