"""Training of a sequence-to-sequence verbaliser with Lightning: the model with its optimiser, and the pairs."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
from lightning.pytorch import LightningDataModule, LightningModule
from lightning.pytorch.utilities.types import OptimizerLRScheduler
from torch import Tensor
from torch.optim import AdamW
from torch.utils.data import DataLoader
from transformers import PreTrainedModel, PreTrainedTokenizerBase, T5Config, T5ForConditionalGeneration
from transformers import get_linear_schedule_with_warmup as linear_schedule

from bgr.kb.knowledge_base import KnowledgeBase
from bgr.reasongraphqa.seq2seq_generator import load_seq2seq
from training.sampler import SimilarLengths
from training.verbalizer_pairs import Pair, Pairs, make_pairs
from training.verbalizer_start import ready_to_copy
from training.verbalizer_tokenizer import train_tokenizer

IGNORED = -100

Batch = dict[str, Tensor]


class VerbalizerModule(LightningModule):
    """A T5 that turns linearised facts into sentences.

    Args:
        init: hub id or folder of an encoder-decoder to start from; empty for a T5 of the sizes below with random
            weights and a tokenizer of its own.
        vocabulary: tokens of that tokenizer.
        width, layers, heads, feed_forward: sizes of that T5; `layers` each of encoder and decoder.
        dropout: of that T5.
        learning_rate: highest, of AdamW.
        weight_decay: of AdamW.
        warmup: share of the steps in which the learning rate rises; it then falls linearly to 0.

    Raises:
        ValueError: sizes that do not go together.
    """

    def __init__(
        self,
        init: str = "",
        vocabulary: int = 2048,
        width: int = 128,
        layers: int = 3,
        heads: int = 4,
        feed_forward: int = 512,
        dropout: float = 0.0,
        learning_rate: float = 1e-3,
        weight_decay: float = 0.01,
        warmup: float = 0.05,
    ) -> None:
        super().__init__()
        if heads < 2 or width % heads:
            raise ValueError(f"{heads} heads of width {width}, allowed: 2 or more, and the width a multiple of them")
        self.save_hyperparameters()
        self.model: PreTrainedModel
        self.tokenizer: PreTrainedTokenizerBase
        self.seed = 0

    def start(self, pairs: Sequence[Pair]) -> None:
        """Make or load model and tokenizer; the pairs teach a new tokenizer its words.

        Raises:
            CheckpointError: `init` is no encoder-decoder.
        """
        if self.hparams["init"]:
            self.model, self.tokenizer = load_seq2seq(self.hparams["init"])
        else:
            texts = (text for pair in pairs for text in (pair.source, pair.target))
            self.tokenizer = train_tokenizer(texts, self.hparams["vocabulary"])
            model = T5ForConditionalGeneration(self._config())
            ready_to_copy(model)
            self.model = model

    def _config(self) -> T5Config:
        sizes = self.hparams
        special: dict[str, Any] = {"decoder_start_token_id": self.tokenizer.pad_token_id}
        return T5Config(
            vocab_size=len(self.tokenizer),
            d_model=sizes["width"],
            d_kv=sizes["width"] // sizes["heads"],
            d_ff=sizes["feed_forward"],
            num_layers=sizes["layers"],
            num_heads=sizes["heads"],
            dropout_rate=sizes["dropout"],
            pad_token_id=self.tokenizer.pad_token_id,
            eos_token_id=self.tokenizer.eos_token_id,
            **special,
        )

    def on_fit_start(self) -> None:
        self.seed = torch.initial_seed()

    def on_train_batch_start(self, batch: Batch, batch_idx: int) -> None:
        # a step's dropout depends on the seed and the step alone, so a resumed run repeats it exactly
        torch.manual_seed(self.seed * 1_000_003 + self.global_step)

    def training_step(self, batch: Batch, _: int) -> Tensor:
        loss = self.model(**batch).loss
        self.log("train/loss", loss, prog_bar=True, batch_size=len(batch["labels"]))
        return loss

    def validation_step(self, batch: Batch, _: int) -> None:
        self.log("dev/loss", self.model(**batch).loss, prog_bar=True, batch_size=int((batch["labels"] >= 0).sum()))

    def configure_optimizers(self) -> OptimizerLRScheduler:
        settings = self.hparams
        optimizer = AdamW(self.model.parameters(), lr=settings["learning_rate"], weight_decay=settings["weight_decay"])
        steps = int(self.trainer.estimated_stepping_batches)
        schedule = linear_schedule(optimizer, round(settings["warmup"] * steps), steps)
        return {"optimizer": optimizer, "lr_scheduler": {"scheduler": schedule, "interval": "step"}}


class VerbalizerData(LightningDataModule):
    """Pairs from a folder of KQA Pro files.

    Args:
        folder: holds ``kb.json``.
        pairs: for training.
        dev_pairs: about heads of their own.
        joined_probability: how often one or two more facts join a fact.
        seed: draws the pairs.
        batch_size: pairs in a batch.
    """

    def __init__(
        self,
        folder: str,
        pairs: int = 48_000,
        dev_pairs: int = 1_000,
        joined_probability: float = 0.4,
        seed: int = 0,
        batch_size: int = 32,
    ) -> None:
        super().__init__()
        self.save_hyperparameters()
        self.kb: KnowledgeBase
        self.pairs = Pairs([], [])
        self.tokens: dict[str, list[tuple[list[int], list[int]]]] = {}
        self.pad = 0

    def setup(self, stage: str | None = None) -> None:
        """Read the knowledge base and word the pairs, once.

        Raises:
            DataError: no ``kb.json``, or one that gives too few pairs.
        """
        if not self.pairs.train:
            own = self.hparams
            self.kb = KnowledgeBase.load(Path(own["folder"]) / "kb.json", progress=True)
            self.pairs = make_pairs(
                self.kb,
                train=own["pairs"],
                dev=own["dev_pairs"],
                joined_probability=own["joined_probability"],
                seed=own["seed"],
                progress=True,
            )

    def prepare(self, tokenizer: Any) -> None:
        """Turn the pairs into tokens."""
        self.pad = tokenizer.pad_token_id
        for name, part in (("train", self.pairs.train), ("dev", self.pairs.dev)):
            sources = tokenizer([pair.source for pair in part])["input_ids"]
            targets = tokenizer(text_target=[pair.target for pair in part])["input_ids"]
            self.tokens[name] = list(zip(sources, targets, strict=True))

    def train_dataloader(self) -> DataLoader[Any]:
        tokens = self.tokens["train"]
        order = SimilarLengths([len(source) for source, _ in tokens], self.hparams["batch_size"], seed=self._seed())
        return DataLoader(tokens, batch_sampler=order, collate_fn=self.collate)  # type: ignore[arg-type]

    def val_dataloader(self) -> DataLoader[Any]:
        tokens = sorted(self.tokens["dev"], key=lambda pair: len(pair[0]))
        return DataLoader(tokens, batch_size=self.hparams["batch_size"], collate_fn=self.collate)  # type: ignore[arg-type]

    def collate(self, pairs: Sequence[tuple[list[int], list[int]]]) -> Batch:
        sources = _padded([source for source, _ in pairs], self.pad)
        lengths = torch.tensor([len(source) for source, _ in pairs])
        mask = torch.arange(sources.shape[1])[None, :] < lengths[:, None]
        labels = _padded([target for _, target in pairs], IGNORED)
        return {"input_ids": sources, "attention_mask": mask.long(), "labels": labels}

    def _seed(self) -> int:
        return torch.initial_seed() % (1 << 31)


def _padded(rows: Sequence[list[int]], pad: int) -> Tensor:
    longest = max(map(len, rows))
    return torch.tensor([row + [pad] * (longest - len(row)) for row in rows])
