"""Pairs of texts as batches of tokens, for a sequence-to-sequence model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import torch
from lightning.pytorch import LightningDataModule
from torch import Tensor
from torch.utils.data import DataLoader

from training.loader import SimilarLengths

IGNORED = -100

Batch = dict[str, Tensor]
TextPair = tuple[str, str]


class Seq2seqData(LightningDataModule):
    """Base class: a subclass makes its pairs in `setup`, and its ``batch_size`` stands among its hyperparameters."""

    def __init__(self) -> None:
        super().__init__()
        self.tokens: dict[str, list[tuple[list[int], list[int]]]] = {}
        self.pad = 0

    def tokenise(self, parts: Mapping[str, Sequence[TextPair]], tokenizer: Any, *, most: int | None = None) -> None:
        """Turn the pairs of ``train`` and ``dev`` into tokens; `most` of a source, whose end is then cut off."""
        self.pad = tokenizer.pad_token_id
        cut: dict[str, Any] = {} if most is None else {"truncation": True, "max_length": most}
        for name, pairs in parts.items():
            sources = tokenizer([source for source, _ in pairs], **cut)["input_ids"]
            targets = tokenizer(text_target=[target for _, target in pairs])["input_ids"]
            self.tokens[name] = list(zip(sources, targets, strict=True))

    def train_dataloader(self) -> DataLoader[Any]:
        tokens = self.tokens["train"]
        seed = torch.initial_seed() % (1 << 31)
        order = SimilarLengths([len(source) for source, _ in tokens], self.hparams["batch_size"], seed=seed)
        return DataLoader(tokens, batch_sampler=order, collate_fn=self.collate)  # type: ignore[arg-type]

    def val_dataloader(self) -> DataLoader[Any]:
        tokens = sorted(self.tokens["dev"], key=lambda pair: len(pair[0]))
        return DataLoader(tokens, batch_size=self.hparams["batch_size"], collate_fn=self.collate)  # type: ignore[arg-type]

    def collate(self, pairs: Sequence[tuple[list[int], list[int]]]) -> Batch:
        """``input_ids``, ``attention_mask`` and ``labels``, each ``[n, t]``."""
        sources = _padded([source for source, _ in pairs], self.pad)
        lengths = torch.tensor([len(source) for source, _ in pairs])
        mask = torch.arange(sources.shape[1])[None, :] < lengths[:, None]
        labels = _padded([target for _, target in pairs], IGNORED)
        return {"input_ids": sources, "attention_mask": mask.long(), "labels": labels}


def _padded(rows: Sequence[list[int]], pad: int) -> Tensor:
    longest = max(map(len, rows))
    return torch.tensor([row + [pad] * (longest - len(row)) for row in rows])
