"""What the benches of training and inference measured, and how it is printed.

Sides of a bench, timed in turns in one run: what else the machine does meanwhile falls on all of them alike.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

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


@dataclass(frozen=True)
class Line:
    """Two ways to do the same work on the same questions.

    Args:
        work: what ours does.
        against: what the other side does.
        ours, other: seconds over all `questions`.
        questions: how many.
        most: target: ours takes at most so many times as long.
        most_ms: target: ours takes at most so many milliseconds a question, by the wall.
    """

    work: str
    against: str
    ours: Seconds
    other: Seconds
    questions: int
    most: float | None = None
    most_ms: float | None = None

    @property
    def ratio(self) -> float:
        """How many times as long ours takes, by the wall's clock."""
        return self.ours.wall / self.other.wall

    @property
    def processor_ratio(self) -> float:
        """The same by processor time, which other work on the machine disturbs less."""
        return self.ours.processor / self.other.processor

    @property
    def met(self) -> bool | None:
        """Whether the targets are met; ``None`` where there is none."""
        if self.most is None and self.most_ms is None:
            return None
        each = self.ours.wall * 1e3 / self.questions
        return self.ratio <= (self.most or float("inf")) and each <= (self.most_ms or float("inf"))

    def to_json(self) -> dict[str, Any]:
        targets = {"most": self.most, "most_ms": self.most_ms, "met": self.met}
        return {
            "work": self.work,
            "against": self.against,
            "questions": self.questions,
            "ms": self.ours.wall * 1e3 / self.questions,
            "other_ms": self.other.wall * 1e3 / self.questions,
            "ratio": self.ratio,
            "processor_ratio": self.processor_ratio,
            **{name: value for name, value in targets.items() if value is not None},
        }

    def row(self) -> tuple[str, ...]:
        ours, other = (seconds.wall * 1e3 / self.questions for seconds in (self.ours, self.other))
        allowed = [f"≤ {self.most}"] if self.most else []
        allowed += [f"≤ {self.most_ms:g} ms"] if self.most_ms else []
        verdict = "" if self.met is None else " met" if self.met else " missed"
        numbers = (f"{ours:.2f}", f"{other:.2f}", f"{self.ratio:.2f}", f"{self.processor_ratio:.2f}")
        return (self.work, self.against, str(self.questions), *numbers, ", ".join(allowed) + verdict)


HEADS = ("", "against", "n", "ms", "its ms", "ratio", "of cpu", "target")


@dataclass(frozen=True)
class SpeedBench:
    """All lines of one run. `setting` says on what: model, questions, device, threads, precision, seed."""

    setting: Mapping[str, Any]
    lines: Sequence[Line]

    def to_json(self) -> dict[str, Any]:
        return {"setting": dict(self.setting), "lines": [line.to_json() for line in self.lines]}

    def __str__(self) -> str:
        rows = [HEADS, *(line.row() for line in self.lines)]
        widths = [max(len(row[i]) for row in rows) for i in range(len(HEADS))]
        table = "\n".join("  ".join(map(_cell, range(len(HEADS)), row, widths)).rstrip() for row in rows)
        said = ", ".join(f"{name} {value}" for name, value in self.setting.items())
        return (
            f"{said}\nmilliseconds of a question; ratio: how many times as long ours takes as the other side\n{table}"
        )


def _cell(column: int, text: str, width: int) -> str:
    return text.ljust(width) if column in (0, 1, len(HEADS) - 1) else text.rjust(width)
