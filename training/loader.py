"""Loaders for several processes, and for training that is taken up again in the middle of an epoch.

They are no `torch.utils.data.DataLoader`, so Lightning takes them as they are, with no sampler of its own around them.

In which order training sees the questions.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from torch.utils.data import Sampler

from bgr.errors import CheckpointError


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


T = TypeVar("T")
Item = TypeVar("Item")


@dataclass(frozen=True)
class Part:
    """Which part of a step is this process' own.

    Args:
        process: number of this process, from 0 (its global rank).
        processes: how many work on a step together.
        accumulate: batches that each of them works on before the weights move.
    """

    process: int = 0
    processes: int = 1
    accumulate: int = 1

    @property
    def batches(self) -> int:
        """Batches of one step, of all processes."""
        return self.processes * self.accumulate


ALONE = Part()


def share_out(rows: Sequence[int], parts: int) -> list[tuple[list[int], float]]:
    """Cut the questions of a step into batches, their numbers as equal as can be.

    Each comes with the weight for its mean loss that makes the mean over the batches the mean over the questions: 1
    where all batches have the same number, as all steps do but an epoch's last one. A batch that would be empty gets
    the step's first question with weight 0, since every process must take every step.

    Args:
        rows: the step's questions, one at least.
        parts: how many batches.
    """
    cut = [list(rows[i::parts]) for i in range(parts)]
    return [(part or list(rows[:1]), len(part) * parts / len(rows)) for part in cut]


class StepLoader(Generic[T]):
    """The batches of one process, of steps that are the same for any number of processes.

    2 processes with batches of 4, or 1 that accumulates 2 batches of 4, see the 8 questions of a step that 1 process
    with batches of 8 sees.

    Lightning keeps `state_dict` in its checkpoints; after `load_state_dict` the epoch of that state goes on behind the
    batches that it had given.

    Args:
        order: the steps of an epoch, each with the questions of all batches of all processes.
        make: a batch of the given questions, whose mean loss has the given weight.
        part: which batches of a step are this process' own.
    """

    def __init__(self, order: SimilarLengths, make: Callable[[list[int], float], T], part: Part = Part()) -> None:
        self.order = order
        self.make = make
        self.part = part
        self.given = 0
        self._resumed: dict[str, Any] = {}

    @property
    def sampler(self) -> SimilarLengths:
        """Lightning tells the epoch to a loader's sampler."""
        return self.order

    def __len__(self) -> int:
        return len(self.order) * self.part.accumulate

    def __iter__(self) -> Iterator[T]:
        # a generator, which begins at the first batch: Lightning makes the iterator before it tells the epoch
        part, steps = self.part, list(self.order)
        self.given = self._begin()
        for number in range(self.given, len(self)):
            step, turn = divmod(number, part.accumulate)
            batches = share_out(steps[step], part.batches)
            self.given = number + 1
            yield self.make(*batches[turn * part.processes + part.process])

    def state_dict(self) -> dict[str, Any]:
        """How far the epoch is, the batch at work included."""
        return {"epoch": self.order.epoch, "given": self.given, "order": self._order()}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self._resumed = state

    def _begin(self) -> int:
        """Number of the epoch's first batch to give.

        Raises:
            CheckpointError: the epoch was begun with other steps.
        """
        state, self._resumed = self._resumed, {}
        if not state or state["epoch"] != self.order.epoch:
            return 0
        if state["order"] != self._order():
            before, now = (
                ", ".join(f"{name} {value}" for name, value in o.items()) for o in (state["order"], self._order())
            )
            raise CheckpointError(
                f"the checkpoint lies within epoch {state['epoch'] + 1}, begun with {before}; now it is {now}; "
                "resume with the same data, seed, batch size × devices × nodes, and accumulation"
            )
        return int(state["given"])

    def _order(self) -> dict[str, int]:
        """All that the steps depend on, and how many batches of a process they are."""
        return {
            "seed": self.order.seed,
            "questions": len(self.order.lengths),
            "questions a step": self.order.batch_size,
            "accumulation": self.part.accumulate,
        }


class WholeLoader(Generic[Item, T]):
    """Everything, in its order, in every process: what is measured on it is the same in each.

    Args:
        items: to go through.
        batch_size: items in a batch.
        make: a batch of the given items.
    """

    def __init__(self, items: Sequence[Item], batch_size: int, make: Callable[[Sequence[Item]], T]) -> None:
        self.items = items
        self.batch_size = batch_size
        self.make = make

    def __len__(self) -> int:
        return -(-len(self.items) // self.batch_size)

    def __iter__(self) -> Iterator[T]:
        for first in range(0, len(self.items), self.batch_size):
            yield self.make(self.items[first : first + self.batch_size])
