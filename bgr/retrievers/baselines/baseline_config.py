"""Configuration of a trained baseline, and the settings file of any baseline."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any

from pydantic import AfterValidator, Field, with_config
from transformers import BertConfig, PretrainedConfig
from typing_extensions import TypedDict

from bgr.errors import BgrError, CheckpointError
from bgr.models.truncation import Truncation
from bgr.retrievers.baselines.beam import AllPaths, Keep, NearBest, TopFacts
from bgr.retrievers.graph_hop.checkpoint import SETTINGS as BGR_SETTINGS
from bgr.utils.settings import STRICT, load_settings, one_of, problems, save_settings

TRAINED = ("dpr", "grr", "mdr", "ssg")
"""Baselines with weights."""


@with_config(STRICT)
class _Limits(TypedDict):
    kind: Annotated[str, AfterValidator(one_of(TRAINED))]
    frozen_layers: Annotated[int, Field(ge=0, le=1_000)]
    width: Annotated[int, Field(ge=0, le=65_536)]
    layers: Annotated[int, Field(ge=0, le=100)]
    context_layers: Annotated[int, Field(ge=1, le=100)]
    rows: Annotated[int, Field(ge=1, le=1_000)]
    dropout: Annotated[float, Field(ge=0, lt=1)]
    question_tokens: Annotated[int, Field(ge=3, le=1_000_000)]
    fact_tokens: Annotated[int, Field(ge=3, le=1_000_000)]
    beam: Annotated[int, Field(ge=1, le=1_000)]
    max_depth: Annotated[int, Field(ge=1, le=1_000)]


class BaselineConfig(PretrainedConfig):
    """The configuration of a trained baseline; stored as ``config.json`` beside the weights.

    Args:
        encoder: configuration of the BERT.
        kind: one of `TRAINED`.
        frozen_layers: number of first encoder layers that are not trained.
        width: width of all vectors, to which token states are projected; 0 for the encoder's width.
        layers: transformer layers over each sentence alone, after the encoder.
        context_layers: layers over the question and the facts found so far (``mdr``) or over the candidates of a
            question (``ssg``).
        rows: summary rows for the vector of a sentence.
        question_tokens, fact_tokens: maximum length of questions and facts in tokens; longer ones are truncated.
        beam: beam width (``grr``, ``mdr``).
        max_depth: maximum facts of a path; for ``ssg``, chains and facts together.
    """

    model_type = "bgr-baseline"
    sub_configs = {"encoder": BertConfig}  # noqa: RUF012  (the base class reads a plain dict)

    def __init__(
        self,
        encoder: BertConfig | dict[str, Any] | None = None,
        kind: str = "dpr",
        frozen_layers: int = 0,
        width: int = 0,
        layers: int = 1,
        context_layers: int = 1,
        rows: int = 4,
        dropout: float = 0.0,
        question_tokens: int = 64,
        fact_tokens: int = 64,
        beam: int = 4,
        max_depth: int = 24,
        **kwargs: Any,
    ) -> None:
        if isinstance(encoder, dict):
            encoder = BertConfig(**encoder)
        self.encoder = encoder if encoder is not None else BertConfig()
        self.encoder.name_or_path = ""  # a path of the machine that trained it
        self.kind = kind
        self.frozen_layers = frozen_layers
        self.width = width or self.encoder.hidden_size
        self.layers = layers
        self.context_layers = context_layers
        self.rows = rows
        self.dropout = dropout
        self.question_tokens = question_tokens
        self.fact_tokens = fact_tokens
        self.beam = beam
        self.max_depth = max_depth
        super().__init__(**kwargs)
        if found := self._problems():
            raise ValueError("; ".join(found))

    def _problems(self) -> list[str]:
        found = problems(_Limits, {name: getattr(self, name) for name in _Limits.__annotations__})
        if found:
            return found
        if self.frozen_layers > self.encoder.num_hidden_layers:
            found.append(f"frozen_layers is {self.frozen_layers}, allowed: 0 to {self.encoder.num_hidden_layers}")
        if self.width % self.heads:
            found.append(f"width is {self.width}, allowed: multiples of 64, or less than 128")
        if max(self.question_tokens, self.fact_tokens) > self.encoder.max_position_embeddings:
            found.append(f"question_tokens and fact_tokens end at {self.encoder.max_position_embeddings}")
        return found

    @property
    def heads(self) -> int:
        """Attention heads outside the encoder, each 64 wide."""
        return max(1, self.width // 64)


FORMAT = 1
SETTINGS = "baseline.json"
SINGLE_HOP = ("bm25", "dpr", "random")
"""Baselines for which the number of facts is given."""
KINDS = tuple(sorted({*TRAINED, *SINGLE_HOP}))


@dataclass(frozen=True)
class BaselineSettings:
    """The choices made on dev (``baseline.json``).

    Args:
        kind: one of `KINDS`.
        k: number of facts, for those in `SINGLE_HOP`.
        margin: margin of `NearBest`, for ``grr`` and ``mdr``.
        seed: seed of ``random``.
        data_hash: hash of the dataset it was trained on.
        recipe: recipe of that dataset with its version; empty if unknown.
        metrics: metric values by split.
        truncation: as in `bgr.retrievers.graph_hop.checkpoint.Settings`; empty for ``bm25`` and ``random``.
        format: version of the folder's layout.
    """

    __pydantic_config__ = STRICT

    kind: Annotated[str, AfterValidator(one_of(KINDS))]
    k: int | None = None
    margin: float | None = None
    seed: int = 0
    data_hash: str = ""
    recipe: str = ""
    metrics: dict[str, Any] = field(default_factory=dict)
    truncation: dict[str, Truncation] = field(default_factory=dict)
    format: int = FORMAT

    def save(self, folder: Path) -> None:
        save_settings(folder / SETTINGS, self)

    @classmethod
    def load(cls, folder: Path) -> BaselineSettings:
        """Read a folder's ``baseline.json``.

        Raises:
            DataError: the file is missing or not JSON.
            CheckpointError: not a baseline's folder, another format, or a field that is unknown or out of range.
        """
        path = folder / SETTINGS
        if not path.is_file() and (folder / BGR_SETTINGS).is_file():
            raise CheckpointError(f"{folder}: a checkpoint of BGR; one of a baseline holds {SETTINGS}")
        settings = load_settings(path, cls, "baseline")
        try:
            settings.keep()
        except BgrError as error:
            raise CheckpointError(f"{path}: {error}") from None
        return settings

    def keep(self) -> Keep:
        """The choice made on dev, as a rule."""
        if self.kind in SINGLE_HOP:
            if self.k is None:
                raise BgrError(f"k of {self.kind} is missing")
            return TopFacts(self.k)
        return AllPaths() if self.kind == "ssg" else NearBest(0.0 if self.margin is None else self.margin)
