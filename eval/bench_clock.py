"""Sides of a bench, timed in turns in one run: what else the machine does meanwhile falls on all of them alike."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import torch
from tqdm import tqdm

Work = Callable[[], object]


@dataclass(frozen=True)
class Seconds:
    """Seconds by the wall's clock, and those that the process' threads spent on a processor."""

    wall: float
    processor: float

    def __add__(self, other: Seconds) -> Seconds:
        return Seconds(self.wall + other.wall, self.processor + other.processor)


def in_turns(
    sides: Mapping[str, Sequence[Work]],
    *,
    rounds: int,
    warm: bool = True,
    device: torch.device | None = None,
    name: str = "",
    progress: bool = False,
) -> dict[str, Seconds]:
    """Each side's seconds over all its pieces of work: of every piece the quickest of several rounds.

    Piece by piece all sides run one after the other; each round another side begins.

    Args:
        sides: the same number of pieces each.
        rounds: how often each piece runs.
        warm: before, run each side's first piece once without timing it.
        device: on a GPU, its work is waited for.
        name: of the progress bar.
        progress: show it on standard error.
    """
    names = list(sides)
    for side in names if warm else ():
        _timed(sides[side][0], device)
    pieces = len(sides[names[0]])
    quickest = {side: [Seconds(float("inf"), float("inf"))] * pieces for side in names}
    with tqdm(total=rounds * pieces * len(names), desc=name, disable=not progress, unit="piece") as bar:
        for number in range(rounds * pieces):
            piece, turn = number % pieces, number // pieces % len(names)
            for side in names[turn:] + names[:turn]:
                taken, best = _timed(sides[side][piece], device), quickest[side][piece]
                quickest[side][piece] = Seconds(min(taken.wall, best.wall), min(taken.processor, best.processor))
                bar.update()
    return {side: sum(each, Seconds(0.0, 0.0)) for side, each in quickest.items()}


def _timed(work: Work, device: torch.device | None) -> Seconds:
    _wait(device)
    wall, processor = time.perf_counter(), time.process_time()
    work()
    _wait(device)
    return Seconds(time.perf_counter() - wall, time.process_time() - processor)


def _wait(device: torch.device | None) -> None:
    if device is not None and device.type == "cuda":
        torch.cuda.synchronize(device)
