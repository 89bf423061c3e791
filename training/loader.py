"""Batch order and data loaders that support several processes and resuming within an epoch.

The loaders are not `torch.utils.data.DataLoader`s, so Lightning does not replace their samplers.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from torch.utils.data import Sampler

from bgr.errors import CheckpointError


class SimilarLengths(Sampler[list[int]]):
    """Batches of questions of similar length, in a new order in each epoch, which reduces padding.

    Questions are shuffled, sorted by length within pools of `pool` batches and split into batches, which are shuffled
    again. The order of an epoch depends only on the arguments and the epoch.
    """

    def __init__(self, lengths: Sequence[int], batch_size: int, *, seed: int, pool: int = 16) -> None:
        self.lengths = lengths
        self.batch_size = batch_size
        self.seed = seed
        self.pool = pool
        self.epoch = 0

    @property
    def sampler(self) -> SimilarLengths:
        """Itself, because Lightning sets the epoch of a batch sampler's sampler."""
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
Ahead = Callable[[Callable[[int], Any], Sequence[int]], Iterable[Any]]


@dataclass(frozen=True)
class Part:
    """The share of this process in a step: its global rank, the number of processes, and the number of batches that
    each process accumulates in a step."""

    process: int = 0
    processes: int = 1
    accumulate: int = 1

    @property
    def batches(self) -> int:
        """Number of batches per step of all processes."""
        return self.processes * self.accumulate


def share_out(rows: Sequence[int], parts: int) -> list[tuple[list[int], float]]:
    """Split the questions of a step, at least one, into `parts` batches of sizes as equal as possible.

    Each batch has a weight for its mean loss, so that the mean over batches equals the mean over questions. The weight
    is 1 if all batches have the same size, as in all steps except the last one of an epoch. An empty batch is replaced
    by the first question of the step with weight 0, because every process must take part in every step.
    """
    cut = [list(rows[i::parts]) for i in range(parts)]
    return [(part or list(rows[:1]), len(part) * parts / len(rows)) for part in cut]


class StepLoader(Generic[T]):
    """The batches of one process. The questions of a step are the same for any number of processes.

    Two processes with batches of 4, or one that accumulates 2 batches of 4, see the same 8 questions in a step as one
    process with batches of 8. After `load_state_dict`, the epoch of that state resumes after the batches already
    yielded. `make` gets questions of a step of `order` and the weight of their mean loss.

    Args:
        order: the steps.
        make: makes a batch; all that is random in it must depend on its arguments and the epoch alone.
        part: the share of this process.
        ahead: makes batches ahead, as `training.transfer.made_ahead` does, of a function of their numbers; by default
            each is made when it is asked for.

    Attributes:
        waited: seconds that all batches so far were waited for.
    """

    def __init__(
        self, order: SimilarLengths, make: Callable[[list[int], float], T], part: Part = Part(), ahead: Ahead = map
    ) -> None:
        self.order = order
        self.make = make
        self.part = part
        self.ahead = ahead
        self.waited = 0.0
        self.given = 0
        self._resumed: dict[str, Any] = {}

    @property
    def sampler(self) -> SimilarLengths:
        """The order, because Lightning sets the epoch of a loader's sampler."""
        return self.order

    def __len__(self) -> int:
        return len(self.order) * self.part.accumulate

    def __iter__(self) -> Iterator[T]:
        # a generator starts at its first batch: Lightning creates the iterator before it sets the epoch
        part, steps = self.part, list(self.order)
        self.given = self._begin()

        def make(number: int) -> T:
            step, turn = divmod(number, part.accumulate)
            batches = share_out(steps[step], part.batches)
            return self.make(*batches[turn * part.processes + part.process])

        numbers = range(self.given, len(self))
        batches = iter(self.ahead(make, numbers))
        for number in numbers:
            began = time.perf_counter()
            batch = next(batches)
            self.waited += time.perf_counter() - began
            self.given = number + 1
            yield batch

    def state_dict(self) -> dict[str, Any]:
        """Position in the epoch, including the current batch."""
        return {"epoch": self.order.epoch, "given": self.given, "order": self._order()}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self._resumed = state

    def _begin(self) -> int:
        """Index of the first batch to yield in the epoch.

        Raises:
            CheckpointError: the epoch was started with other steps.
        """
        state, self._resumed = self._resumed, {}
        if not state or state["epoch"] != self.order.epoch:
            return 0
        if state["order"] != self._order():
            orders = state["order"], self._order()
            before, now = (", ".join(f"{name} {value}" for name, value in order.items()) for order in orders)
            raise CheckpointError(
                f"the checkpoint is within epoch {state['epoch'] + 1}, started with {before}; now it is {now}; "
                "resume with the same data, seed, batch size × devices × nodes, and accumulation"
            )
        return int(state["given"])

    def _order(self) -> dict[str, int]:
        """Everything that determines the steps, and the number of batches per process and step."""
        return {
            "seed": self.order.seed,
            "questions": len(self.order.lengths),
            "questions a step": self.order.batch_size,
            "accumulation": self.part.accumulate,
        }


class WholeLoader(Generic[Item, T]):
    """Batches of all items in their order, in every process, so that metrics are the same in each."""

    def __init__(
        self, items: Sequence[Item], batch_size: int, make: Callable[[Sequence[Item]], T], ahead: Ahead = map
    ) -> None:
        self.items = items
        self.batch_size = batch_size
        self.make = make
        self.ahead = ahead

    def __len__(self) -> int:
        return -(-len(self.items) // self.batch_size)

    def __iter__(self) -> Iterator[T]:
        size = self.batch_size
        yield from self.ahead(
            lambda first: self.make(self.items[first : first + size]), range(0, len(self.items), size)
        )
