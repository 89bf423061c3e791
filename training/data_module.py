"""Batches of ReasonGraphQA for Lightning."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import torch
from lightning.pytorch import LightningDataModule
from torch.utils.data import DataLoader, Sampler

from bgr.example import Example
from bgr.models.batching import Batch, Sentences, make_batch
from bgr.models.retriever import BgrRetriever
from bgr.reasongraphqa.dataset import load_split
from training.state_cache import keep_lower_states


@dataclass(frozen=True)
class TrainingBatch:
    """A batch and the examples it was made of."""

    batch: Batch
    examples: list[Example]

    def to(self, *args: Any, **kwargs: Any) -> TrainingBatch:
        return TrainingBatch(self.batch.to(*args, **kwargs), self.examples)


class SimilarLengths(Sampler[list[int]]):
    """Batches of questions of similar length, in a new order each epoch, so that little of a batch is padding.

    Questions are shuffled, sorted by length within pools of `pool` batches, cut into batches, and these shuffled.

    Args:
        lengths: of each question, in any unit.
        batch_size: questions in a batch.
        seed: of the order; the epoch is added to it.
        pool: batches that are sorted together.
    """

    def __init__(self, lengths: Sequence[int], batch_size: int, *, seed: int, pool: int = 16) -> None:
        self.lengths = lengths
        self.batch_size = batch_size
        self.seed = seed
        self.pool = pool
        self.epoch = 0

    @property
    def sampler(self) -> SimilarLengths:
        """Itself: Lightning tells the epoch to a batch sampler's sampler."""
        return self

    def set_epoch(self, epoch: int) -> None:
        self.epoch = epoch

    def __len__(self) -> int:
        return -(-len(self.lengths) // self.batch_size)

    def __iter__(self) -> Iterator[list[int]]:
        rng = random.Random(self.seed * 1_000_003 + self.epoch)
        order = rng.sample(range(len(self.lengths)), len(self.lengths))
        size = self.batch_size * self.pool
        pools = [sorted(order[i : i + size], key=self.lengths.__getitem__) for i in range(0, len(order), size)]
        rows = [row for pool in pools for row in pool]
        batches = [rows[i : i + self.batch_size] for i in range(0, len(rows), self.batch_size)]
        rng.shuffle(batches)
        yield from batches


class BgrDataModule(LightningDataModule):
    """Train and dev split of a dataset folder.

    Args:
        folder: what ``bgr data build`` wrote.
        batch_size: questions in a training batch.
        dev_batch_size: questions in a batch of the dev split, which is sorted by length so that little of a batch is
            padding.
        candidates: keep only so many candidates of a training question, all the gold ones and others drawn anew each
            epoch; 0 for all. Less work, and less to learn by heart.
        limit: use only so many training questions; 0 for all.
    """

    def __init__(
        self, folder: str, batch_size: int = 16, dev_batch_size: int = 8, candidates: int = 0, limit: int = 0
    ) -> None:
        super().__init__()
        self.folder = folder
        self.batch_size = batch_size
        self.dev_batch_size = dev_batch_size
        self.candidates = candidates
        self.limit = limit
        self.splits: dict[str, list[Example]] = {}

    def setup(self, stage: str | None = None) -> None:
        for split in ("train", "dev"):
            self.splits.setdefault(split, load_split(self.folder, split))
        self.splits["dev"].sort(key=lambda e: (max(map(len, e.facts), default=0), e.id))
        if self.limit:
            self.splits["train"] = self.splits["train"][: self.limit]

    def prepare(self, tokenizer: Any, model: BgrRetriever, cache: Path) -> None:
        """Tokenise every different sentence once; keep the states of the model's frozen layers under `cache`."""
        self.setup()
        everything = [example for split in self.splits.values() for example in split]
        limits = model.config
        self.questions = Sentences((e.question for e in everything), tokenizer, most_tokens=limits.question_tokens)
        self.facts = Sentences((f for e in everything for f in e.facts), tokenizer, most_tokens=limits.fact_tokens)
        keep_lower_states(self.questions, model.encoder, cache, name="questions")
        keep_lower_states(self.facts, model.encoder, cache, name="facts")

    def collate(self, examples: list[Example]) -> TrainingBatch:
        return TrainingBatch(
            make_batch(self.questions, self.facts, [(e.question, e.facts) for e in examples]), examples
        )

    def train_dataloader(self) -> DataLoader[Example]:
        train = self.splits["train"]
        order = SimilarLengths([len(e.question) for e in train], self.batch_size, seed=torch.initial_seed() % (1 << 31))

        def collate(examples: list[Example]) -> TrainingBatch:
            if not self.candidates:
                return self.collate(examples)
            drawn = f"{order.seed} {order.epoch}"
            return self.collate([fewer_candidates(e, self.candidates, f"{drawn} {e.id}") for e in examples])

        return DataLoader(train, batch_sampler=order, collate_fn=collate)  # type: ignore[arg-type]

    def val_dataloader(self) -> DataLoader[Example]:
        return DataLoader(self.splits["dev"], batch_size=self.dev_batch_size, collate_fn=self.collate)  # type: ignore[arg-type]


def fewer_candidates(example: Example, count: int, seed: str) -> Example:
    """The same question with at most `count` candidates: all gold facts, others at random, in the order they had."""
    gold = example.graph.nodes
    others = sorted(set(range(len(example.facts))) - set(gold))
    room = max(0, min(count - len(gold), len(others)))
    kept = sorted([*gold, *random.Random(seed).sample(others, room)])
    places = {fact: place for place, fact in enumerate(kept)}
    return replace(example, facts=tuple(example.facts[fact] for fact in kept), graph=example.graph.relabel(places))
