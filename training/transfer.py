"""Batches on their way to a GPU: made by other processes, as narrow as their values allow, in pinned memory."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, fields, is_dataclass
from typing import Any, Generic, TypeVar

import torch
from torch import Tensor
from torch.utils.data import DataLoader, Dataset

from bgr.errors import BgrError
from bgr.utils.devices import cores

T = TypeVar("T")

MAX_WORKERS = 8
"""Processes that make batches for one GPU by default; there is rarely work for more."""


def default_workers(device: torch.device) -> int:
    """Processes that make batches: none on a CPU, whose cores are busy with the model."""
    return 0 if device.type == "cpu" else min(MAX_WORKERS, max(1, cores() - 1))


@dataclass(frozen=True)
class Packed(Generic[T]):
    """A batch of a frozen dataclass whose tensors were made narrow by `pack`. `to` gives the batch itself."""

    batch: T

    def pin_memory(self) -> Packed[T]:
        """In pinned memory, from which a GPU copies while the CPU goes on. The loader calls this."""
        return Packed(map_tensors(self.batch, Tensor.pin_memory))

    def to(self, device: torch.device | str, non_blocking: bool = True) -> T:
        """The batch on a device, where its tensors are widened again."""
        return map_tensors(self.batch, lambda one: _widened(one.to(device, non_blocking=non_blocking)))


def pack(batch: T) -> Packed[T]:
    """Make each tensor half as wide if that loses nothing: int64 to int32, float32 to float16 (cached states). The
    batch has no tensors of these types before."""
    return Packed(map_tensors(batch, _narrowed))


def _narrowed(one: Tensor) -> Tensor:
    if one.dtype == torch.int64:
        narrow = one.to(torch.int32)
    elif one.dtype == torch.float32:
        narrow = one.to(torch.float16)
    else:
        return one
    return narrow if torch.equal(narrow.to(one.dtype), one) else one


def _widened(one: Tensor) -> Tensor:
    wide = {torch.int32: torch.int64, torch.float16: torch.float32}.get(one.dtype)
    return one if wide is None else one.to(wide)


def map_tensors(item: Any, change: Callable[[Tensor], Tensor]) -> Any:
    """A dataclass with all tensors changed, also those of dataclasses in it; one that occurs twice is changed once."""
    known: dict[int, Tensor] = {}

    def mapped(value: Any) -> Any:
        if isinstance(value, Tensor):
            if id(value) not in known:
                known[id(value)] = change(value)
            return known[id(value)]
        if is_dataclass(value) and not isinstance(value, type):
            changed = {one.name: mapped(getattr(value, one.name)) for one in fields(value)}
            return type(value)(**changed) if any(changed[n] is not getattr(value, n) for n in changed) else value
        return value

    return mapped(item)


class _Batches(Dataset[Any]):
    """`make` as a dataset of PyTorch, which loads its items in other processes."""

    def __init__(self, make: Callable[[int], Any]) -> None:
        self.make = make

    def __getitem__(self, number: int) -> Any:
        return pack(self.make(number))


def made_ahead(
    make: Callable[[int], T], numbers: Sequence[int], *, workers: int, pin: bool = False
) -> Iterator[Packed[T]]:
    """``pack(make(number))`` for each number in their order, made ahead by some processes, which share the memory that
    there is when the first batch is asked for.

    With `pin`, in pinned memory; without workers, each batch is made when it is asked for.

    Raises:
        BgrError: a process that makes batches was ended.
    """
    loader = DataLoader(
        _Batches(make),
        batch_size=None,
        sampler=numbers,
        num_workers=workers,
        collate_fn=_same,
        pin_memory=pin,
        multiprocessing_context="fork" if workers else None,  # the data are not copied
        generator=torch.Generator(),  # leaves the random numbers of the model alone
    )
    try:
        yield from loader
    except RuntimeError as error:
        if "DataLoader worker" not in str(error):
            raise
        raise BgrError(
            f"a process that prepares batches has ended ({' '.join(str(error).split())}; perhaps out of memory); "
            f"--resume continues, --data.workers={workers // 2} needs less memory"
        ) from None


def _same(item: T) -> T:
    return item
