"""The extractive reader in use: it points at the evidence, and code reads the answer off (`bgr.reader.extraction`).

A reader is stored in a folder::

    reader.json                      settings (`ExtractiveSettings`)
    config.json, model.safetensors   the model, without the encoder's frozen layers if these are elsewhere
    tokenizer.json, …                the encoder's tokenizer
    encoder/                         the frozen layers; a reader in a checkpoint uses those of the retriever
"""

from __future__ import annotations

import copy
import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, Literal

import torch
from pydantic import Field, with_config
from typing_extensions import TypedDict

from bgr.errors import CheckpointError
from bgr.graph.evidence_graph import ROOT, EvidenceGraph
from bgr.models.batching import Sentences
from bgr.models.checkpoint import BY_NAME, load_tokenizer, save_part, shared_tensors
from bgr.models.extractive_reader import ExtractiveReaderConfig, ExtractiveReaderModel
from bgr.models.loading import load_weights, read_config
from bgr.reader.evidence import EvidenceTexts, Told, evidence_batch
from bgr.reader.extraction import Extracted, extract
from bgr.reader.reader import NOT_ANSWERABLE, SETTINGS, ReaderAnswer, ReaderInput, Span
from bgr.utils.devices import autocast, pick_device, pick_precision
from bgr.utils.json_utils import one_line
from bgr.utils.progress import progress_bar
from bgr.utils.settings import STRICT, load_settings, problems, save_settings

FORMAT = 3

LogOdds = Annotated[float, Field(ge=-100, le=100)]


@dataclass(frozen=True)
class Joint:
    """The probability that an answer from a retrieved graph is right: a logistic function of the log-odds of the
    reader's confidence and of the completeness of the evidence, and of how unlike the training questions the question
    is (`bgr.models.question_distance`), measured on dev."""

    __pydantic_config__ = STRICT

    reader: LogOdds
    completeness: LogOdds
    offset: LogOdds
    distance: LogOdds = 0.0


@with_config(STRICT)
class _Limits(TypedDict):
    """Limits of the fields of a configuration that the weights do not determine, and of the number of layers, which are
    built to compare them."""

    frozen_layers: Annotated[int, Field(ge=0, le=1_000)]
    width: Annotated[int, Field(ge=1, le=65_536)]
    layers: Annotated[int, Field(ge=0, le=100)]
    labels: Annotated[list[str], Field(max_length=100_000)]
    units: Annotated[list[str], Field(max_length=100_000)]
    dropout: Annotated[float, Field(ge=0, le=1)]
    question_tokens: Annotated[int, Field(ge=3, le=1_000_000)]
    fact_tokens: Annotated[int, Field(ge=3, le=1_000_000)]


@dataclass(frozen=True)
class ExtractiveSettings:
    """Settings of an extractive reader, stored in ``reader.json``.

    Args:
        slope, offset: calibration of the confidence, a logistic function of its log-odds, measured on dev with gold
            graphs.
        joint: calibration with the completeness of retrieved evidence; without it both are multiplied.
        data_hash: hash of the dataset that the reader was trained on.
        recipe: recipe of that dataset with its version; empty if unknown.
        metrics: metric values by split.
        form: the kind of reader.
        format: version of the file.
    """

    __pydantic_config__ = STRICT

    slope: LogOdds = 1.0
    offset: LogOdds = 0.0
    joint: Joint | None = None
    data_hash: str = ""
    recipe: str = ""
    metrics: dict[str, Any] = field(default_factory=dict)
    form: Literal["extractive"] = "extractive"
    format: int = FORMAT

    def calibrated(self, confidence: float, completeness: float | None = None, distance: float = 0.0) -> float:
        """The probability that an answer with this uncalibrated confidence is right."""
        if completeness is not None and self.joint is not None:
            joint = self.joint
            known = joint.reader * logit(confidence) + joint.completeness * logit(completeness) + joint.offset
            return _sigmoid(known + joint.distance * distance)
        alone = _sigmoid(self.slope * logit(confidence) + self.offset)
        return alone if completeness is None else alone * completeness


def logit(chance: float) -> float:
    """Log-odds of a probability, of at most about 14 in size."""
    chance = min(max(chance, 1e-6), 1 - 1e-6)
    return math.log(chance / (1 - chance))


def _sigmoid(odds: float) -> float:
    return 1 / (1 + math.exp(-odds)) if odds > -700 else 0.0


class ExtractiveReader:
    """A trained extractive reader: model, tokenizer and settings.

    Args:
        device: device of the model; default: the GPU if there is one.
        precision: ``"32"`` or ``"bf16"``; default: bfloat16 if it is fast on the device.

    Raises:
        ValueError: the precision is another one.
    """

    def __init__(
        self,
        model: ExtractiveReaderModel,
        tokenizer: Any,
        settings: ExtractiveSettings,
        *,
        device: str | torch.device | None = None,
        precision: str | None = None,
    ) -> None:
        self.device = pick_device(device)
        self.precision = pick_precision(self.device, precision)
        self.model: ExtractiveReaderModel = model.to(self.device).eval()  # type: ignore[arg-type]
        self.tokenizer, self.settings = tokenizer, settings

    @classmethod
    def from_pretrained(
        cls, folder: str | Path, *, device: str | torch.device | None = None, precision: str | None = None
    ) -> ExtractiveReader:
        """Load a reader from a folder, without network access. Device and precision are as for the class.

        Raises:
            DataError: a file is missing.
            CheckpointError: a file is damaged or inconsistent with the others, or a test question fails.
        """
        folder = Path(folder)
        settings = load_settings(folder / SETTINGS, ExtractiveSettings, "reader")
        config = read_config(folder / "config.json", ExtractiveReaderConfig)
        if found := problems(_Limits, {name: getattr(config, name) for name in _Limits.__annotations__}):
            raise CheckpointError(f"{folder / 'config.json'}: {'; '.join(found)}")
        # in a checkpoint, the retriever's encoder is beside the reader
        home = folder if (folder / "encoder").exists() else folder.parent
        model = load_weights(folder, ExtractiveReaderModel, config, shared=shared_tensors(home))
        tokens = folder if (folder / "tokenizer.json").exists() else folder.parent
        tokenizer = load_tokenizer(tokens, config.encoder.vocab_size)
        reader = cls(model, tokenizer, settings, device=device, precision=precision)
        try:
            reader.answer([ReaderInput("?", (".",), EvidenceGraph([(ROOT, 0)]))])
        except Exception as error:  # weights may fit a configuration that cannot be run
            raise CheckpointError(f"{folder}: the reader cannot be run: {one_line(error)}") from None
        return reader

    def answer(
        self, items: Sequence[ReaderInput], *, batch_size: int = 32, progress: bool = False
    ) -> list[ReaderAnswer]:
        """One answer for each item, in order; an item without evidence is not answerable."""
        rows = [row for row, item in enumerate(items) if item.graph.nodes]
        # similar lengths together, for little padding
        rows.sort(key=lambda row: (sum(len(items[row].facts[node]) for node in items[row].graph.nodes), row))
        found = [NOT_ANSWERABLE] * len(items)
        with progress_bar(len(rows), "read", "question", show=progress) as bar:
            for start in range(0, len(rows), batch_size):
                part = rows[start : start + batch_size]
                for row, answer in zip(part, self._read([items[row] for row in part]), strict=True):
                    found[row] = answer
                bar.update(len(part))
        return found

    def answer_alone(
        self, questions: Sequence[str], *, batch_size: int = 32, progress: bool = False
    ) -> list[ReaderAnswer]:
        """Without evidence there is nothing to point at."""
        return [NOT_ANSWERABLE] * len(questions)

    @property
    def description(self) -> str:
        """Kind and size, for a model card."""
        own = sum(weight.numel() for name, weight in self.model.named_parameters() if not name.startswith("encoder."))
        return f"extractive, {own:,} weights and the encoder"

    def save(self, folder: Path, *, half: bool = False, checkpoint: Path | None = None) -> None:
        """Write the reader's files to an existing folder; the frozen layers into its ``encoder/``, unless they are
        those of the `checkpoint` that it is part of."""
        model = copy.deepcopy(self.model).half() if half else self.model
        home = folder if checkpoint is None else checkpoint
        save_part(model, folder, home, by_name=(home / BY_NAME).exists())
        if checkpoint is None:
            self.tokenizer.save_pretrained(folder)
        save_settings(folder / SETTINGS, self.settings)

    @torch.inference_mode()
    def _read(self, items: Sequence[ReaderInput]) -> list[ReaderAnswer]:
        config = self.model.config
        told = [Told.of(item.question, item.facts, item.graph) for item in items]
        questions = Sentences([one.question for one in told], self.tokenizer, max_tokens=config.question_tokens)
        facts = Sentences((f for one in told for f in one.facts), self.tokenizer, max_tokens=config.fact_tokens)
        limits = config.fact_tokens, config.question_tokens
        texts = EvidenceTexts(facts, questions, self.tokenizer, limits=limits)
        batch, evidence = evidence_batch(questions, facts, texts, told)
        batch = batch.to(self.device)
        with autocast(self.device, self.precision):
            scores = self.model(batch.questions, batch.facts, evidence.to(self.device))
        cut = questions.truncated | facts.truncated
        found = extract(scores, [texts.of(one) for one in told], config)
        return [
            self._answer(one, item, any(text in cut for text in (item.question, *there.facts)))
            for one, item, there in zip(found, items, told, strict=True)
        ]

    def _answer(self, found: Extracted, item: ReaderInput, truncated: bool) -> ReaderAnswer:
        if found.text is None:
            return ReaderAnswer(None, 0.0, truncated)
        order = item.graph.order()
        spans = tuple(Span(order[one.fact], one.start, one.end) for one in found.spans)
        confidence = self.settings.calibrated(found.confidence, item.completeness, found.distance)
        return ReaderAnswer(found.text, confidence, truncated, tuple(order[fact] for fact in found.support), spans)
