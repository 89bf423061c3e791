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

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Annotated, Any

import torch
from pydantic import AfterValidator, Field, with_config
from safetensors import safe_open
from torch import Tensor
from transformers import AutoTokenizer, PretrainedConfig
from typing_extensions import TypedDict

from bgr.errors import CheckpointError
from bgr.models.config import DIRECTIONS, BgrConfig
from bgr.models.loading import Shared, load_weights, read_config, save_shared
from bgr.models.packaged import MINILM_SHA256, PACKAGED_MINILM, packaged_minilm
from bgr.models.retriever import BgrRetriever
from bgr.models.truncation import Truncation
from bgr.retrievers.graph_hop.completeness import Refusal
from bgr.retrievers.graph_hop.fusion import Calibration, Fusion
from bgr.utils.atomic_io import new_file, read_json
from bgr.utils.json_utils import one_line, repr_short
from bgr.utils.settings import STRICT, load_settings, one_of, problems, save_settings

FORMAT = 2
SETTINGS = "bgr.json"
SHARED = Path("encoder", "model.safetensors")
BY_NAME = Path("encoder", "encoder.json")
PUBLISHED = {"name": PACKAGED_MINILM, "sha256": MINILM_SHA256["model.safetensors"]}
"""The encoder that a checkpoint may name instead of holding it."""
ENCODER = "encoder.bert."
"""What precedes the names of a published encoder's tensors in a direction."""

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
    values = {name: getattr(config, name, None) for name in _Limits.__annotations__}
    values["num_hidden_layers"] = config.encoder.num_hidden_layers
    if found := problems(_Limits, values):
        raise CheckpointError(f"{home / 'config.json'}: {'; '.join(found)}")
    model: BgrRetriever = load_weights(home, BgrRetriever, config, shared=_shared(folder))
    return model


def _shared(folder: Path) -> Shared:
    """Where the tensors are that both directions share."""
    if (folder / SHARED).exists() or not (folder / BY_NAME).exists():
        return Shared(folder / SHARED)
    if (named := read_json(folder / BY_NAME)) != PUBLISHED:
        raise CheckpointError(f"{folder / BY_NAME}: is {repr_short(named)}, allowed: {PUBLISHED}")
    return Shared(packaged_minilm() / "model.safetensors", ENCODER)


def save_retriever(model: BgrRetriever, home: Path, folder: Path, *, by_name: bool = False) -> None:
    """Write one direction to `home`, a folder that becomes ``folder/DIRECTION``. Its frozen layers are stored once for
    both directions, in `folder`, unless it has other ones already; or only the name of the encoder is (`by_name`).

    Raises:
        CheckpointError: the frozen layers are not those of the published encoder that should be named.
    """
    tensors = model.state_dict()
    frozen = {f"encoder.{name}" for name in model.encoder.frozen_names()}
    if by_name:
        _check_published({name: tensors[name] for name in frozen})
        with new_file(folder / BY_NAME, parents=True) as part:
            part.write_text(json.dumps(PUBLISHED, indent=1) + "\n", encoding="utf-8")
        tensors = {name: tensor for name, tensor in tensors.items() if name not in frozen}
    elif frozen and save_shared({name: tensors[name] for name in sorted(frozen)}, folder / SHARED):
        tensors = {name: tensor for name, tensor in tensors.items() if name not in frozen}
    model.save_pretrained(home, state_dict=tensors)


def _check_published(frozen: Mapping[str, Tensor]) -> None:
    with safe_open(packaged_minilm() / "model.safetensors", framework="pt") as file:
        names = set(file.keys())
        same = frozen and all(
            name.removeprefix(ENCODER) in names
            and torch.equal(file.get_tensor(name.removeprefix(ENCODER)).to(tensor.dtype), tensor.cpu())
            for name, tensor in frozen.items()
        )
    if not same:
        raise CheckpointError(f"the frozen layers are not those of {PACKAGED_MINILM}, so that it cannot be named")


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


def load_tokenizer(folder: Path, words: int | None = None) -> Any:
    """The tokenizer in the folder, without network access.

    `words` is the size of the encoder's vocabulary, which the tokenizer's must not exceed.

    Raises:
        CheckpointError: it is missing, damaged, or has too many words.
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
