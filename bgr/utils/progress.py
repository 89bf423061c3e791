"""Progress on standard error: a bar on a terminal, otherwise about ten plain lines. Both show the time left."""

from __future__ import annotations

import sys
import time
from types import TracebackType
from typing import Protocol, Self

from tqdm import tqdm

SECONDS = 2.0
"""Minimum time before the first report and between two of them."""


class Pace:
    """Decides when progress is reported: once for each tenth of the work, for each percent on a terminal."""

    def __init__(self) -> None:
        self._parts = 100 if sys.stderr.isatty() else 10
        self._part = 0
        self._moment = time.monotonic()

    def due(self, share: float) -> bool:
        """Return true if the `share` of the work that is done, 0 to 1, is to be reported now. If it falls, new work has
        begun."""
        part = int(share * self._parts + 1e-9)  # 0.3 * 10 may be slightly less than 3
        if part < self._part:
            self._part = 0
        now = time.monotonic()
        if part == self._part or now - self._moment < SECONDS:
            return False
        self._part, self._moment = part, now
        return True


def percent(share: float) -> str:
    return f"{int(100 * share + 1e-9)} %"


def time_left(seconds: float) -> str:
    """``"3:20 left"``, or hours, minutes and seconds."""
    return f"{tqdm.format_interval(seconds)} left"


class Bar(Protocol):
    """The part of tqdm that `progress_bar` promises."""

    def update(self, n: int = 1) -> object: ...

    def __enter__(self) -> Self: ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> object: ...


class PlainLines:
    """A bar for a file or pipe, which would keep every state of a real one."""

    def __init__(self, total: int, title: str, unit: str) -> None:
        self.total, self.title, self.unit = total, title, unit
        self.done = 0
        self._start = time.monotonic()
        self._pace = Pace()

    def update(self, n: int = 1) -> None:
        self.done += n
        share = self.done / self.total
        if self._pace.due(share):
            left = (time.monotonic() - self._start) * (1 / share - 1)
            counts = f"{self.done:,} of {self.total:,} {self.unit}s"
            print(f"{self.title}: {counts}, {percent(share)}, {time_left(left)}", file=sys.stderr, flush=True)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        pass


def progress_bar(total: int, title: str, unit: str, *, show: bool = True) -> Bar:
    """Progress of `total` pieces of work, shown if it takes more than two seconds. `unit` is singular."""
    if show and not sys.stderr.isatty():
        return PlainLines(total, title, unit)
    bar: Bar = tqdm(total=total, desc=title, unit=unit, disable=not show, delay=SECONDS)
    return bar
