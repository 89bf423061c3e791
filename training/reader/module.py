"""Lightning module of an extractive reader, and its initial weights from another one."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from torch import Tensor

from bgr.errors import CheckpointError
from bgr.metrics.answers import answer_match
from bgr.models.extractive_reader import ExtractiveReaderConfig, ExtractiveReaderModel
from bgr.models.loading import read_config
from bgr.reader.extraction import Extracted, extract
from bgr.utils.checksums import check_file
from bgr.utils.json_utils import one_line
from training.base_module import RetrievalModule
from training.reader.data import ReaderBatch
from training.reader.loss import reader_loss


class ReaderModule(RetrievalModule):
    """Lightning module of an extractive reader.

    Args:
        encoder: hub id or folder of a BERT, or ``packaged-minilm`` for the one from the package index.
        width, layers, dropout: as in `ExtractiveReaderConfig`.
        init: folder of an extractive reader whose weights the training starts from; what has another shape starts anew.
        settings: those of `RetrievalModule`.
    """

    model: ExtractiveReaderModel

    def __init__(
        self, encoder: str, width: int = 192, layers: int = 3, dropout: float = 0.0, init: str = "", **settings: Any
    ) -> None:
        super().__init__(encoder, **settings)
        self.right: list[bool] = []

    def start(self, labels: Sequence[str], units: Sequence[str]) -> None:
        """Make the model, with the lists of the data, after those of the reader that the training starts from: rows of
        weights belong to their places."""
        if self.hparams["init"]:
            before = read_config(Path(self.hparams["init"]) / "config.json", ExtractiveReaderConfig)
            labels, units = (list(dict.fromkeys([*a, *b])) for a, b in ((before.labels, labels), (before.units, units)))
        self.hparams.update(labels=list(labels), units=list(units))
        self.use(ExtractiveReaderModel, ExtractiveReaderConfig)
        if self.hparams["init"]:
            self.beginning = start_from(self.model, Path(self.hparams["init"]))

    @property
    def fresh(self) -> list[str]:
        """The trained tensors for which the reader that the training starts from has nothing."""
        trained = [name for name, weight in self.model.named_parameters() if weight.requires_grad]
        return [name for name in trained if name not in self.beginning] if self.beginning else []

    def loss(self, batch: Any) -> Tensor:
        parts: ReaderBatch = batch
        scores = self.model(parts.batch.questions, parts.batch.facts, parts.evidence)
        return reader_loss(scores, parts.targets, parts.texts, self.model.config)

    def extract(self, batch: ReaderBatch) -> list[Extracted]:
        """The answers to the questions of a batch."""
        scores = self.model(batch.batch.questions, batch.batch.facts, batch.evidence)
        return extract(scores, batch.texts, self.model.config)

    def validation_step(self, batch: Any, _: int) -> None:
        parts: ReaderBatch = batch
        self.log("dev/loss", self.loss(parts), batch_size=len(parts.examples))
        for example, found in zip(parts.examples, self.extract(parts), strict=True):
            if example.answer_unknown:
                continue  # nobody knows whether it is right
            right = found.text is None if not example.answerable else answer_match(found.text, example.answer)
            self.right.append(right)

    def on_validation_epoch_end(self) -> None:
        score = sum(self.right) / max(1, len(self.right))
        self.right.clear()
        self.log_dict({"dev/em": score, "dev/score": score}, prog_bar=True)


@torch.no_grad()
def start_from(model: ExtractiveReaderModel, folder: Path) -> dict[str, Tensor]:
    """Copy what a reader's folder has of the model's tensors; of a tensor with more or fewer rows, the rows of both.

    The encoder's frozen layers are the model's own.

    Returns:
        What was copied, by the names of the model's tensors. The others have another width or none in the folder.

    Raises:
        CheckpointError: the folder has no such weights, or no tensor of them fits.
    """
    path = folder / "model.safetensors"
    try:
        with safe_open(path, framework="pt") as file:
            there = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118  (not a mapping)
    except (OSError, SafetensorError) as error:
        raise CheckpointError(f"{path}: cannot be read: {one_line(error)}") from None
    check_file(path)
    frozen = {f"encoder.{name}" for name in model.encoder.frozen_names()}
    own = {name: weight for name, weight in model.named_parameters() if name not in frozen}
    copied = {}
    for name, weight in own.items():
        if name in there and there[name].shape[1:] == weight.shape[1:]:
            rows = torch.atleast_1d(weight)
            copied[name] = torch.atleast_1d(there[name])[: len(rows)].float()
            rows[: len(copied[name])] = copied[name]
    if not copied:
        raise CheckpointError(f"{path}: no weights of an extractive reader of this width")
    return copied
