"""Batches of ReasonGraphQA for Lightning."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import torch
from lightning.pytorch import LightningDataModule

from bgr.data.example import Example
from bgr.data.reasongraphqa.io.dataset import load_split
from bgr.models.batching import Batch, Sentences, make_batch
from bgr.models.retriever import BgrRetriever
from bgr.retrievers.baselines.model import BaselineModel
from training.limits import at_least
from training.loader import Part, SimilarLengths, StepLoader, WholeLoader
from training.retriever.state_cache import keep_lower_states


@dataclass(frozen=True)
class TrainingBatch:
    """A batch and the examples it was made of.

    Args:
        batch: what the model reads.
        examples: its questions with their gold graphs.
        weight: of its mean loss; other than 1 only in an epoch's last step (`training.loader.share_out`).
    """

    batch: Batch
    examples: list[Example]
    weight: float = 1.0

    def to(self, *args: Any, **kwargs: Any) -> TrainingBatch:
        return replace(self, batch=self.batch.to(*args, **kwargs))


class BgrDataModule(LightningDataModule):
    """Train and dev split of a dataset folder.

    Args:
        folder: what ``bgr data build`` wrote.
        batch_size: questions in a training batch; a step takes so many times devices, nodes and accumulated batches.
        dev_batch_size: questions in a batch of the dev split, which is sorted by length so that little of a batch is
            padding.
        candidates: keep only so many candidates of a training question, all the gold ones and others drawn anew each
            epoch; 0 for all. Less work, and less to learn by heart.
        limit: use only so many training questions; 0 for all.
        dev_limit: use only so many dev questions; 0 for all.

    Raises:
        ValueError: a number is out of range.
    """

    def __init__(
        self,
        folder: str,
        batch_size: int = 16,
        dev_batch_size: int = 8,
        candidates: int = 0,
        limit: int = 0,
        dev_limit: int = 0,
    ) -> None:
        super().__init__()
        at_least(1, batch_size=batch_size, dev_batch_size=dev_batch_size)
        at_least(0, candidates=candidates, limit=limit, dev_limit=dev_limit)
        self.folder = folder
        self.batch_size = batch_size
        self.dev_batch_size = dev_batch_size
        self.candidates = candidates
        self.limit = limit
        self.dev_limit = dev_limit
        self.splits: dict[str, list[Example]] = {}
        self.loader: StepLoader[TrainingBatch] | None = None
        self.resumed: dict[str, Any] = {}

    def setup(self, stage: str | None = None) -> None:
        for split in ("train", "dev"):
            self.splits.setdefault(split, load_split(self.folder, split))
        if self.dev_limit:
            self.splits["dev"] = self.splits["dev"][: self.dev_limit]
        self.splits["dev"].sort(key=lambda e: (max(map(len, e.facts), default=0), e.id))
        if self.limit:
            self.splits["train"] = self.splits["train"][: self.limit]

    def prepare(self, tokenizer: Any, model: BgrRetriever | BaselineModel, cache: Path) -> None:
        """Tokenise every different sentence once; keep the states of the model's frozen layers under `cache`."""
        self.setup()
        everything = [example for split in self.splits.values() for example in split]
        limits = model.config
        self.questions = Sentences((e.question for e in everything), tokenizer, max_tokens=limits.question_tokens)
        self.facts = Sentences((f for e in everything for f in e.facts), tokenizer, max_tokens=limits.fact_tokens)
        keep_lower_states(self.questions, model.encoder, cache, name="questions")
        keep_lower_states(self.facts, model.encoder, cache, name="facts")

    def collate(self, examples: Sequence[Example]) -> TrainingBatch:
        return TrainingBatch(
            make_batch(self.questions, self.facts, [(e.question, e.facts) for e in examples]), list(examples)
        )

    def train_dataloader(self) -> StepLoader[TrainingBatch]:
        train, part = self.splits["train"], self._part()
        lengths = [len(e.question) for e in train]
        order = SimilarLengths(lengths, self.batch_size * part.batches, seed=torch.initial_seed() % (1 << 31))

        def make(rows: list[int], weight: float) -> TrainingBatch:
            examples = [train[row] for row in rows]
            if self.candidates:
                drawn = f"{order.seed} {order.epoch}"
                examples = [fewer_candidates(e, self.candidates, f"{drawn} {e.id}") for e in examples]
            return replace(self.collate(examples), weight=weight)

        self.loader = StepLoader(order, make, part)
        self.loader.load_state_dict(self.resumed)
        return self.loader

    def val_dataloader(self) -> WholeLoader[Example, TrainingBatch]:
        return WholeLoader(self.splits["dev"], self.dev_batch_size, self.collate)

    def state_dict(self) -> dict[str, Any]:
        """How far the epoch is."""
        return self.loader.state_dict() if self.loader else {}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        # Lightning would tell the loader itself, but too early: it makes the loader to count the steps for the learning
        # rate's schedule, before it reads how far the checkpoint is
        self.resumed = state_dict

    def _part(self) -> Part:
        if self.trainer is None:
            return Part()
        return Part(self.trainer.global_rank, self.trainer.world_size, self.trainer.accumulate_grad_batches)


def fewer_candidates(example: Example, count: int, seed: str) -> Example:
    """The same question with at most `count` candidates: all gold facts, others at random, in the order they had."""
    gold = example.graph.nodes
    others = sorted(set(range(len(example.facts))) - set(gold))
    room = max(0, min(count - len(gold), len(others)))
    kept = sorted([*gold, *random.Random(seed).sample(others, room)])
    places = {fact: place for place, fact in enumerate(kept)}
    return replace(example, facts=tuple(example.facts[fact] for fact in kept), graph=example.graph.relabel(places))
