"""In which order training sees the questions."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence

from torch.utils.data import Sampler


class SimilarLengths(Sampler[list[int]]):
    """Batches of questions of similar length, in a new order each epoch, so that little of a batch is padding.

    Questions are shuffled, sorted by length within pools of `pool` batches, cut into batches, and these shuffled. An
    epoch's order depends on the arguments and the epoch alone.

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
