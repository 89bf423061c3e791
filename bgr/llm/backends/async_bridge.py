"""Results of asynchronous work for synchronous code.

The event loop runs in its own thread, so this also works inside a running event loop.
"""

from __future__ import annotations

import asyncio
import queue
import threading
from collections.abc import Awaitable, Callable, Generator
from typing import Generic, TypeVar

T = TypeVar("T")


class _End(Generic[T]):
    """Last item of the queue, with the error that ended the work, if any."""

    def __init__(self, error: BaseException | None) -> None:
        self.error = error


def results_of(work: Callable[[Callable[[T], None]], Awaitable[None]]) -> Generator[T, None, None]:
    """Yield every value that `work` passes to its argument, as soon as it arrives. If the generator is closed or the
    program is interrupted, the work is cancelled."""
    results: queue.SimpleQueue[T | _End] = queue.SimpleQueue()
    stop = _Stop()
    thread = threading.Thread(target=_run, args=(work, results, stop), daemon=True)
    thread.start()
    try:
        while not isinstance(result := results.get(), _End):
            yield result
        if result.error is not None:
            raise result.error
    finally:
        stop()
        thread.join()


class _Stop:
    """Cancels the work from another thread, before or after its start."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._task: asyncio.Task | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._stopped = False

    def begin(self) -> bool:
        """Register the current task; false if the work is already cancelled."""
        with self._lock:
            self._task, self._loop = asyncio.current_task(), asyncio.get_running_loop()
            return not self._stopped

    def end(self) -> None:
        with self._lock:
            self._task = self._loop = None

    def __call__(self) -> None:
        with self._lock:
            self._stopped = True
            if self._task is not None and self._loop is not None:
                self._loop.call_soon_threadsafe(self._task.cancel)


def _run(work: Callable[[Callable[[T], None]], Awaitable[None]], results: queue.SimpleQueue, stop: _Stop) -> None:
    async def main() -> None:
        try:
            if stop.begin():
                await work(results.put)
        finally:
            stop.end()

    try:
        asyncio.run(main())
    except asyncio.CancelledError:
        results.put(_End(None))
    except BaseException as error:  # passed to the waiting thread
        results.put(_End(error))
    else:
        results.put(_End(None))
