"""Asynchronous work from synchronous code: one event loop in a thread of its own, for all servers."""

from __future__ import annotations

import asyncio
import os
import queue
import threading
from collections.abc import Awaitable, Callable, Generator
from concurrent.futures import CancelledError
from typing import Any, TypeVar

from bgr.utils.workers import waiting

T = TypeVar("T")

_lock = threading.Lock()
_running: tuple[int, asyncio.AbstractEventLoop] | None = None


def event_loop() -> asyncio.AbstractEventLoop:
    """The running loop of this process; it is started when it is first needed, also after a fork."""
    global _running
    with _lock:
        if _running is None or _running[0] != os.getpid():
            loop = asyncio.new_event_loop()
            threading.Thread(target=loop.run_forever, name="llm calls", daemon=True).start()
            _running = os.getpid(), loop
        return _running[1]


class _End:
    """The end of a task; it comes after all its results."""

    def __init__(self, task: asyncio.Task[None]) -> None:
        self.task = task


def results_of(work: Callable[[Callable[[T], None]], Awaitable[None]]) -> Generator[T, None, None]:
    """Run asynchronous work and yield each result that it hands to its argument, as it comes.

    This also works inside another loop (notebooks) and in several threads. Closing the generator, or stopping the
    `bgr.utils.workers.each_of` that it runs in, cancels the work. Until the end, other items of `each_of` compute.
    """
    loop = event_loop()
    results: queue.SimpleQueue[Any] = queue.SimpleQueue()
    tasks: list[asyncio.Task[None]] = []

    async def run() -> None:
        await work(results.put)

    def start() -> None:
        tasks.append(loop.create_task(run()))
        tasks[0].add_done_callback(lambda task: results.put(_End(task)))

    def cancel() -> None:
        loop.call_soon_threadsafe(lambda: tasks[0].cancel())

    loop.call_soon_threadsafe(start)
    end = None
    with waiting(cancel):
        try:
            while not isinstance(result := results.get(), _End):
                yield result
            end = result
        finally:
            if end is None:  # closed
                cancel()
                while not isinstance(results.get(), _End):
                    pass
    if end.task.cancelled():
        raise CancelledError
    if (error := end.task.exception()) is not None:
        raise error
