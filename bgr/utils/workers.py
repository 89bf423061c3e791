"""Work on many items side by side, for work that mostly waits (for replies of a server).

The items take turns: only one computes at a time, and another one continues while it waits (`waiting`). What the work
uses (models, indices, caches) therefore need not be safe for several threads, as with coroutines, but the work is plain
synchronous code.
"""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Generator, Iterable, Iterator, Sized
from contextlib import contextmanager
from typing import TypeVar

S = TypeVar("S")
T = TypeVar("T")

_END = object()


class _Turns:
    """The turn of the workers of one `each_of`; workers of a worker share its lock."""

    def __init__(self, lock: threading.Lock) -> None:
        self.lock = lock
        self.stopped = False
        self.cancels: set[Callable[[], object]] = set()

    def stop(self) -> None:
        """End the work: waits are cancelled, and no further item is taken."""
        self.stopped = True
        for cancel in list(self.cancels):
            cancel()


_current = threading.local()


def _turns() -> _Turns | None:
    return getattr(_current, "turns", None)


@contextmanager
def waiting(cancel: Callable[[], object]) -> Iterator[None]:
    """Let other items compute while this thread waits; without `each_of`, do nothing.

    Args:
        cancel: ends the wait early with an exception; called from another thread when the work is stopped.
    """
    turns = _turns()
    if turns is None:
        yield
        return
    turns.cancels.add(cancel)
    if turns.stopped:
        cancel()
    turns.lock.release()
    try:
        yield
    finally:
        turns.lock.acquire()
        turns.cancels.discard(cancel)


def each_of(work: Callable[[S], T], items: Iterable[S], workers: int) -> Generator[tuple[int, T], None, None]:
    """Yield the result of `work` for each item with the number of the item, as soon as it is known.

    Items are taken when a worker is free. An exception of `work` or of `items` stops everything and is raised here.
    Closing the generator stops everything, too. With one worker, items are worked on in order, without a thread.

    Args:
        workers: number of items in work at a time, from 1.
    """
    if isinstance(items, Sized):
        workers = min(workers, len(items))
    if workers <= 1:
        yield from ((number, work(item)) for number, item in enumerate(items))
        return
    outer = _turns()
    turns = _Turns(threading.Lock() if outer is None else outer.lock)
    numbered = enumerate(items)
    results: queue.SimpleQueue[object] = queue.SimpleQueue()

    def run() -> None:
        _current.turns = turns
        with turns.lock:
            try:
                while not turns.stopped and (pair := next(numbered, None)) is not None:
                    results.put((pair[0], work(pair[1])))
            except BaseException as error:
                results.put(error)
            results.put(_END)

    threads = [threading.Thread(target=run, name=f"worker {n}", daemon=True) for n in range(workers)]
    for thread in threads:
        thread.start()
    left = workers
    try:
        while left:
            with waiting(turns.stop):
                result = results.get()
            if result is _END:
                left -= 1
            elif isinstance(result, BaseException):
                raise result
            else:
                yield result  # type: ignore[misc]
    finally:
        turns.stop()
        with waiting(lambda: None):
            for thread in threads:
                thread.join()
