"""Timing and results of benchmarks that compare several implementations in one run.

The implementations are timed in turns, so that other load on the machine affects all of them alike.
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
    """Wall-clock seconds, and processor seconds of all threads of the process."""

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
    """Time all sides. The time of each piece is its fastest of several rounds, and a side's time is the sum over
    pieces.

    All sides run one after the other for each piece, and each round starts with another side.

    Args:
        sides: the pieces of work of each side, equally many.
        rounds: number of rounds.
        warm: first run the first piece of each side untimed.
        device: device of the work; a GPU is synchronized.
        name: title of the progress bar.
        progress: show a progress bar on standard error.
    """
    names = list(sides)
    for side in names if warm else ():
        _timed(sides[side][0], device)
    pieces = len(sides[names[0]])
    fastest = {side: [Seconds(float("inf"), float("inf"))] * pieces for side in names}
    with tqdm(total=rounds * pieces * len(names), desc=name, disable=not progress, unit="piece") as bar:
        for number in range(rounds * pieces):
            piece, turn = number % pieces, number // pieces % len(names)
            for side in names[turn:] + names[:turn]:
                taken, best = _timed(sides[side][piece], device), fastest[side][piece]
                fastest[side][piece] = Seconds(min(taken.wall, best.wall), min(taken.processor, best.processor))
                bar.update()
    return {side: sum(each, Seconds(0.0, 0.0)) for side, each in fastest.items()}


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
    """Two implementations of the same work on the same questions.

    Args:
        work: description of our side.
        against: description of the other side.
        ours, other: time over all questions.
        questions: number of questions.
        max_ratio: target for the ratio of our time to the other.
        max_ms: target for our wall-clock milliseconds per question.
    """

    work: str
    against: str
    ours: Seconds
    other: Seconds
    questions: int
    max_ratio: float | None = None
    max_ms: float | None = None

    @property
    def ratio(self) -> float:
        """Ratio of our wall-clock time to that of the other side."""
        return self.ours.wall / self.other.wall

    @property
    def processor_ratio(self) -> float:
        """Ratio of processor times, which other load on the machine affects less."""
        return self.ours.processor / self.other.processor

    @property
    def met(self) -> bool | None:
        """True if the targets are met; ``None`` without targets."""
        if self.max_ratio is None and self.max_ms is None:
            return None
        each = self.ours.wall * 1e3 / self.questions
        return self.ratio <= (self.max_ratio or float("inf")) and each <= (self.max_ms or float("inf"))

    def to_json(self) -> dict[str, Any]:
        targets = {"most": self.max_ratio, "most_ms": self.max_ms, "met": self.met}
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
        allowed = [f"≤ {self.max_ratio}"] if self.max_ratio else []
        allowed += [f"≤ {self.max_ms:g} ms"] if self.max_ms else []
        verdict = "" if self.met is None else " met" if self.met else " missed"
        numbers = (f"{ours:.2f}", f"{other:.2f}", f"{self.ratio:.2f}", f"{self.processor_ratio:.2f}")
        return (self.work, self.against, str(self.questions), *numbers, ", ".join(allowed) + verdict)


HEADS = ("", "against", "n", "ms", "its ms", "ratio", "of cpu", "target")


@dataclass(frozen=True)
class SpeedBench:
    """All lines of one run. `setting` describes model, questions, device, threads, precision and seed."""

    setting: Mapping[str, Any]
    lines: Sequence[Line]

    def to_json(self) -> dict[str, Any]:
        return {"setting": dict(self.setting), "lines": [line.to_json() for line in self.lines]}

    def __str__(self) -> str:
        rows = [HEADS, *(line.row() for line in self.lines)]
        widths = [max(len(row[i]) for row in rows) for i in range(len(HEADS))]
        table = "\n".join("  ".join(map(_cell, range(len(HEADS)), row, widths)).rstrip() for row in rows)
        setting = ", ".join(f"{name} {value}" for name, value in self.setting.items())
        return f"{setting}\nmilliseconds per question; ratio: our time divided by that of the other side\n{table}"


def _cell(column: int, text: str, width: int) -> str:
    return text.ljust(width) if column in (0, 1, len(HEADS) - 1) else text.rjust(width)
