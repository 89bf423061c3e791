"""Timing and results of benchmarks, which do the same work with several implementations in one run."""

from __future__ import annotations

import gc
import time
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from math import inf
from typing import Any, NamedTuple, TypeVar

import numpy as np
import torch
from tqdm import tqdm

from bgr.errors import BgrError

T = TypeVar("T")
Item = TypeVar("Item")
Work = Callable[[], object]


class BenchResult(NamedTuple):
    """Result of a benchmark: a text for people, the same numbers for JSON, and an error if the implementations
    disagree."""

    text: str
    data: Mapping[str, Any]
    error: BgrError | None = None


class Seconds(NamedTuple):
    """Wall-clock seconds, and processor seconds of all threads of the process."""

    wall: float
    processor: float


def table(rows: Sequence[Sequence[str]], left: Collection[int] = (0,)) -> str:
    """Aligned columns: those whose numbers are in `left` to the left, the others to the right."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = []
    for row in rows:
        cells = enumerate(zip(row, widths, strict=True))
        padded = (cell.ljust(width) if i in left else cell.rjust(width) for i, (cell, width) in cells)
        lines.append("  ".join(padded).rstrip())
    return "\n".join(lines)


def timed(work: Callable[..., T], *args: Any, **named: Any) -> tuple[T, float]:
    """The result of a call and its wall-clock seconds."""
    start = time.perf_counter()
    return work(*args, **named), time.perf_counter() - start


def time_each(
    passes: Iterable[tuple[Callable[[Item], Any], Sequence[Item]]],
    name: str,
    failures: tuple[type[Exception], ...] = (),
) -> tuple[list[Any], list[float]]:
    """The result of each item in the last pass, and the wall-clock seconds of its fastest pass.

    A pass goes over all items, so that no item benefits from its own data in the processor's cache. Work and items may
    be made anew for each pass, untimed. Exceptions in `failures` give the result ``None``; `name` is the title of the
    progress bar.
    """
    results: list[Any] = []
    fastest: list[float] = []
    for work, items in passes:
        results, seconds = [], []
        gc.freeze()  # the collector does not walk through what was made before while the clock runs
        for item in tqdm(items, desc=name, delay=2):
            start = time.perf_counter()
            try:
                result = work(item)
            except failures:
                result = None
            seconds.append(time.perf_counter() - start)
            results.append(result)
        gc.unfreeze()
        fastest = [min(pair) for pair in zip(fastest or seconds, seconds, strict=True)]
    return results, fastest


def in_turns(
    *sides: Sequence[Work], rounds: int, warm: bool = True, device: torch.device | None = None, name: str = ""
) -> list[Seconds]:
    """Time several sides in turns, so that other load on the machine affects all of them alike.

    All sides have equally many pieces of work. For each piece, all sides run one after the other, and each round starts
    with another side. The time of a piece is its fastest of all rounds, and a side's time is the sum over its pieces.
    With `warm`, the first piece of each side first runs untimed; a GPU `device` is synchronized. `name` is the title of
    the progress bar.
    """
    for side in sides if warm else ():
        _timed(side[0], device)
    pieces = len(sides[0])
    fastest = np.full((len(sides), pieces, 2), inf)
    with tqdm(total=rounds * pieces * len(sides), desc=name, unit="piece") as bar:
        for number in range(rounds * pieces):
            turn, piece = divmod(number, pieces)
            for i in range(turn, turn + len(sides)):
                best = fastest[i % len(sides), piece]
                np.minimum(best, _timed(sides[i % len(sides)][piece], device), out=best)
                bar.update()
    return [Seconds(*total) for total in fastest.sum(axis=1).tolist()]


def _timed(work: Work, device: torch.device | None) -> Seconds:
    _wait(device)
    wall, processor = time.perf_counter(), time.process_time()
    work()
    _wait(device)
    return Seconds(time.perf_counter() - wall, time.process_time() - processor)


def _wait(device: torch.device | None) -> None:
    if device is not None and device.type == "cuda":
        torch.cuda.synchronize(device)


def line(
    work: str,
    against: str,
    ours: Seconds,
    other: Seconds,
    questions: int,
    *,
    max_ratio: float | None = None,
    max_ms: float | None = None,
) -> dict[str, Any]:
    """Two implementations of the same work on the same questions, as JSON.

    The given times are over all questions, those of the result are wall-clock milliseconds per question. The ratio of
    processor times is affected less by other load on the machine. `max_ratio` is the target for the ratio of our time
    to the other, and `max_ms` for our milliseconds per question.
    """
    ms, ratio = ours.wall * 1e3 / questions, ours.wall / other.wall
    targets = {name: value for name, value in (("most", max_ratio), ("most_ms", max_ms)) if value is not None}
    met = ratio <= targets.get("most", inf) and ms <= targets.get("most_ms", inf)
    return {
        "work": work,
        "against": against,
        "questions": questions,
        "ms": ms,
        "other_ms": other.wall * 1e3 / questions,
        "ratio": ratio,
        "processor_ratio": ours.processor / other.processor,
        **targets,
        **({"met": met} if targets else {}),
    }


def compare(
    work: str,
    against: str,
    ours: Sequence[Work],
    other: Sequence[Work],
    questions: int,
    *,
    rounds: int,
    warm: bool = True,
    device: torch.device | None = None,
    max_ratio: float | None = None,
) -> dict[str, Any]:
    """Time two implementations `in_turns` and make the `line`."""
    name = f"{work} against {against}"
    seconds, other_seconds = in_turns(ours, other, rounds=rounds, warm=warm, device=device, name=name)
    return line(work, against, seconds, other_seconds, questions, max_ratio=max_ratio)


def speed_result(
    setting: Mapping[str, Any],
    lines: Sequence[Mapping[str, Any]],
    used: Sequence[Mapping[str, Any]] = (),
    used_lines: Sequence[str] = (),
) -> BenchResult:
    """The result of a benchmark of a model, from its setting (model, questions, device, seed, …), its lines, and what
    it used of the device, as numbers and as text."""
    rows: list[tuple[str, ...]] = [("", "against", "n", "ms", "its ms", "ratio", "of cpu", "target")]
    for one in lines:
        numbers = (one["ms"], one["other_ms"], one["ratio"], one["processor_ratio"])
        targets = [f"≤ {one['most']}"] if "most" in one else []
        targets += [f"≤ {one['most_ms']:g} ms"] if "most_ms" in one else []
        verdict = (" met" if one["met"] else " missed") if targets else ""
        cells = (*(f"{number:.2f}" for number in numbers), ", ".join(targets) + verdict)
        rows.append((one["work"], one["against"], str(one["questions"]), *cells))
    text = "\n".join(
        [
            ", ".join(f"{name} {value}" for name, value in setting.items()),
            "milliseconds per question; ratio: our time divided by that of the other side",
            table(rows, left=(0, 1, len(rows[0]) - 1)),
            *used_lines,
        ]
    )
    return BenchResult(text, {"setting": dict(setting), "lines": list(lines), "utilization": list(used)})
