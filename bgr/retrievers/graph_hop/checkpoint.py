"""A checkpoint folder: both directions, the tokenizer, and the settings of the pair.

::

    bgr.json                     format, rule, γ of each rule, data hash, dev and test metrics
    encoder/model.safetensors    embeddings and frozen layers, which both directions share
    encoder/encoder.json         in place of them the name and hash of a published encoder (some exports)
    forward/  backward/          config.json, model.safetensors with the other tensors
    reader/                      if it also answers: see bgr.reader.reader
    tokenizer.json, …            the encoder's tokenizer
    README.md                    model card (exports only)

A direction whose ``model.safetensors`` has all of its tensors does not use ``encoder/``: one without frozen layers, one
whose frozen layers differ from those of the other direction, and those of older versions.
"""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Annotated, Any

from pydantic import AfterValidator, Field, with_config
from transformers import PretrainedConfig
from typing_extensions import TypedDict

from bgr.errors import CheckpointError
from bgr.models.checkpoint import shared_tensors
from bgr.models.config import DIRECTIONS, BgrConfig
from bgr.models.loading import Shared, load_weights, read_config
from bgr.models.pool_ranker import PoolRanker, RankerConfig
from bgr.models.retriever import BgrRetriever
from bgr.models.truncation import Truncation
from bgr.retrievers.graph_hop.completeness import Refusal
from bgr.retrievers.graph_hop.fusion import Calibration, Fusion
from bgr.retrievers.graph_hop.options import RANKER
from bgr.utils.json_utils import repr_short
from bgr.utils.settings import STRICT, load_settings, one_of, problems, save_settings

FORMAT = 3
SETTINGS = "bgr.json"

MAX_LOG_ODDS = 100
"""Maximum absolute value of a calibration's numbers."""

Fraction = Annotated[float, Field(ge=0, le=1)]
LogOdds = Annotated[float, Field(ge=-MAX_LOG_ODDS, le=MAX_LOG_ODDS)]
_A_DIRECTION = AfterValidator(one_of(DIRECTIONS))
_A_NUMBER = AfterValidator(one_of([one.name for one in fields(Calibration)]))


@with_config(STRICT)
class _Limits(TypedDict):
    """Limits of the fields of a configuration that the weights do not determine, and of the number of layers, which are
    built to compare them."""

    rows: Annotated[int, Field(ge=1, le=1_000)]
    links: Annotated[int, Field(ge=0, le=1_000)]
    prune: Annotated[int, Field(ge=0, le=1_000_000)]
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
        gammas: γ of each rule, chosen on dev.
        fused_threshold: log-odds that an edge needs with the rule `fused`, chosen on dev.
        calibration: fields of the `Calibration` of each direction, measured on dev.
        data_hash: hash of the dataset the pair was trained on.
        recipe: recipe of that dataset with its version; empty if unknown.
        refusal: when a graph is empty because the evidence does not seem complete, chosen on dev.
        metrics: metric values by split.
        truncation: how many of the distinct ``questions`` and ``facts`` of train and dev were truncated; empty in
            checkpoints of older versions.
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
    recipe: str = ""
    refusal: Refusal = field(default_factory=Refusal)
    metrics: dict[str, Any] = field(default_factory=dict)
    truncation: dict[str, Truncation] = field(default_factory=dict)
    format: int = FORMAT

    def gamma(self, rule: str) -> float:
        """The rule's γ; ½ if none was chosen."""
        return self.gammas.get(rule, 0.5)

    @property
    def fusion(self) -> Fusion:
        """Parameters of `fused` besides γ; a direction without calibration keeps its log-odds."""
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
        CheckpointError: a file is missing or damaged, or a tensor is missing, unexpected, or of the wrong shape; or the
            checkpoint names an encoder that is not installed.
    """
    home = folder / direction
    config: BgrConfig = read_part(home, BgrConfig, "direction")
    return load_model(home, config, shared_tensors(folder))


def load_ranker(folder: Path) -> PoolRanker | None:
    """The ranker of a checkpoint, if it has one; as `load_retriever`, which has the errors."""
    home = folder / RANKER
    return load_weights(home, PoolRanker, read_config(home / "config.json", RankerConfig)) if home.exists() else None


def load_model(home: Path, config: BgrConfig, shared: Shared, kind: type[BgrRetriever] = BgrRetriever) -> BgrRetriever:
    """The model in a folder, with tensors of its own and shared ones; as `load_retriever`, which has the errors."""
    values = {name: getattr(config, name, None) for name in _Limits.__annotations__}
    values["num_hidden_layers"] = config.encoder.num_hidden_layers
    if found := problems(_Limits, values):
        raise CheckpointError(f"{home / 'config.json'}: {'; '.join(found)}")
    model: BgrRetriever = load_weights(home, kind, config, shared=shared)
    return model


def read_part(home: Path, kind: type[PretrainedConfig], name: str) -> Any:
    """The configuration of a model in a checkpoint; its field `name` is the name of the model's folder.

    Raises:
        CheckpointError: a file of the model is missing, or the configuration is damaged or another model's.
    """
    for file in ("config.json", "model.safetensors"):
        if not (home / file).is_file():
            raise CheckpointError(f"{home / file}: no such file")
    config = read_config(home / "config.json", kind)
    if getattr(config, name) != home.name:
        raise CheckpointError(
            f"{home / 'config.json'}: {name} is {repr_short(getattr(config, name))}, expected {home.name!r}"
        )
    return config
