"""Notice on standard error while calls wait for an overloaded server: what is waited for, and how long."""

from __future__ import annotations

import asyncio
import sys
import time

from tqdm import tqdm

from bgr.utils.progress import SECONDS

BETWEEN = 30.0
"""Seconds between two lines, where standard error is not a terminal."""


class WaitNotice:
    """Waits of the calls of one server, used in its event loop.

    On a terminal it is a bar of the seconds until the last of these calls is sent again, otherwise a line now and then.
    Short waits are not shown.
    """

    def __init__(self, server: str) -> None:
        self.server = server
        self._until: dict[object, tuple[float, str]] = {}
        self._shown: asyncio.Task[None] | None = None

    async def sleep(self, seconds: float, why: str) -> None:
        """Wait, for the reason `why` (one line)."""
        call = object()
        self._until[call] = (time.monotonic() + seconds, why)
        if self._shown is None or self._shown.done():
            self._shown = asyncio.get_running_loop().create_task(self._show())
        try:
            await asyncio.sleep(seconds)
        finally:
            del self._until[call]

    def text(self) -> str:
        """The server, the reason, and the number of waiting calls."""
        why = max(self._until.values())[1]
        calls = f"{len(self._until):,} call{'s' if len(self._until) > 1 else ''} waiting"
        return f"{self.server}: {why}; {calls}"

    @property
    def left(self) -> float:
        """Seconds until the last waiting call is sent again."""
        return max(0.0, max(until for until, _ in self._until.values()) - time.monotonic())

    async def _show(self) -> None:
        await asyncio.sleep(SECONDS)
        if sys.stderr.isatty():
            await self._bar()
            return
        while self._until:
            tqdm.write(f"{self.text()}, next try in {self.left:.0f} s", file=sys.stderr)
            await asyncio.sleep(BETWEEN)

    async def _bar(self) -> None:
        if not self._until:
            return
        began = time.monotonic()
        bar_format = "{desc} |{bar}| {n:.0f} of {total:.0f} s"
        with tqdm(total=self.left, desc=self.text(), leave=False, bar_format=bar_format) as bar:
            while self._until:
                bar.set_description_str(self.text(), refresh=False)
                bar.n = time.monotonic() - began
                bar.total = bar.n + self.left
                bar.refresh()
                await asyncio.sleep(0.5)
