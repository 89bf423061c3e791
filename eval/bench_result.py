"""What the benches of training and inference measured, and how it is printed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from eval.bench_clock import Seconds


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
