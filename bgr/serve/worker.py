"""One thread that owns the models, and answers the questions of all requests in batches."""

from __future__ import annotations

import asyncio
import logging
import queue
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from bgr.errors import BgrError

LOG = logging.getLogger(__name__)
Item = TypeVar("Item")
Result = TypeVar("Result")


def one_thread() -> ThreadPoolExecutor:
    """An executor of one thread."""
    return ThreadPoolExecutor(1, thread_name_prefix="bgr-worker")


class FullError(Exception):
    """As many questions as are allowed wait or are being answered."""


class StoppedError(Exception):
    """The worker takes no more questions."""


class DiedError(StoppedError):
    """The thread with the models has ended by an error that was none of a question."""


@dataclass(frozen=True)
class Done(Generic[Result]):
    """A result, with the seconds that it waited and that its batch took."""

    result: Result
    waited: float
    seconds: float


@dataclass(eq=False)
class _Job(Generic[Item, Result]):
    item: Item
    future: asyncio.Future[Done[Result]]
    loop: asyncio.AbstractEventLoop
    put: float = field(default_factory=time.perf_counter)


class Worker(Generic[Item, Result]):
    """Answers items in batches, in the order in which they come; an item whose caller has gone is skipped.

    Args:
        work: results of a batch, in order. If it fails for several items, each is tried alone, so that one does not
            harm the others.
        max_queue: maximum number of items that wait or are being worked on.
        batch_size: maximum items of a batch.
        wait: seconds to wait for further items before a batch begins. Nothing is waited for after a batch of one: a
            single client gains nothing by it, while several ones, which were answered together, ask again together.
        on_batch: called with the size of each batch.
        on_death: called in the thread if it ends by an error that is none of an item; those that wait have failed.
        thread: an executor of one thread, which the worker takes for itself; default: a new one. Models should be
            loaded by the thread that uses them: threads of PyTorch belong to one of Python, and two sets of them were
            13 % slower.

    Attributes:
        seconds_each: time of the last batch for each of its items.
    """

    def __init__(
        self,
        work: Callable[[Sequence[Item]], Sequence[Result]],
        *,
        max_queue: int,
        batch_size: int,
        wait: float,
        on_batch: Callable[[int], None] = lambda size: None,
        on_death: Callable[[BaseException], None] = lambda error: None,
        thread: ThreadPoolExecutor | None = None,
    ) -> None:
        self.work, self.on_batch, self.on_death = work, on_batch, on_death
        self.max_queue, self.batch_size, self.wait = max_queue, batch_size, wait
        self.seconds_each = 0.0
        self._jobs: queue.SimpleQueue[_Job[Item, Result] | None] = queue.SimpleQueue()
        self._lock = threading.Lock()
        self._pending = 0
        self._stopped = self._died = False
        self._last_size = 0
        self._batch: list[_Job[Item, Result]] = []
        own = thread or one_thread()
        self._ended = own.submit(self._run)
        own.shutdown(wait=False)  # it ends with the work

    @property
    def pending(self) -> int:
        """Number of items that wait or are being worked on."""
        return self._pending

    @property
    def stopped(self) -> bool:
        return self._stopped

    def submit(self, items: Sequence[Item]) -> list[asyncio.Future[Done[Result]]]:
        """A future for each item, of all or none. Cancel a future to give its item up.

        Raises:
            FullError: there is no room for all of them.
            StoppedError: `stop` was called, or the thread has ended (`DiedError`).
        """
        loop = asyncio.get_running_loop()
        with self._lock:
            if self._stopped:
                raise DiedError if self._died else StoppedError
            if self._pending + len(items) > self.max_queue:
                raise FullError
            self._pending += len(items)
            jobs = [_Job(item, loop.create_future(), loop) for item in items]
            for job in jobs:
                self._jobs.put(job)
        return [job.future for job in jobs]

    def stop(self, seconds: float | None = None) -> bool:
        """Take no more items, work on those that wait, and end. Whether it has ended in time."""
        with self._lock:
            if not self._stopped:
                self._stopped = True
                self._jobs.put(None)
        return not wait([self._ended], seconds).not_done

    def _run(self) -> None:
        try:
            self._answer_all()
        except BaseException as error:
            LOG.critical("the thread with the models has ended", exc_info=error)
            self._die(error)

    def _die(self, error: BaseException) -> None:
        """Fail the batch and all that waits."""
        waiting = list(self._batch)
        with self._lock:
            self._stopped = self._died = True
            while not self._jobs.empty():
                if (job := self._jobs.get()) is not None:
                    waiting.append(job)
        for job in waiting:
            self._report(job, DiedError())
        self.on_death(error)

    def _answer_all(self) -> None:
        ended = False
        while not ended:
            jobs, ended = self._next_batch()
            self._last_size = len(jobs)
            self._batch = alive = [job for job in jobs if not job.future.cancelled()]
            with self._lock:
                self._pending -= len(jobs) - len(alive)
            del jobs
            if alive:
                self.on_batch(len(alive))
                self._answer(alive)
            self._batch = alive = []  # nothing is held while it waits

    def _next_batch(self) -> tuple[list[_Job[Item, Result]], bool]:
        """The next jobs, and whether they are the last."""
        first = self._jobs.get()
        if first is None:
            return [], True
        jobs, end = [first], time.perf_counter() + (self.wait if self._last_size > 1 else 0.0)
        while len(jobs) < self.batch_size:
            try:
                job = self._jobs.get(timeout=max(0.0, end - time.perf_counter()))
            except queue.Empty:
                break
            if job is None:
                return jobs, True
            jobs.append(job)
        return jobs, False

    def _answer(self, jobs: Sequence[_Job[Item, Result]]) -> None:
        started = time.perf_counter()
        try:
            results = self.work([job.item for job in jobs])
            if len(results) != len(jobs):
                raise RuntimeError(f"{len(results)} results for {len(jobs)} items")
        except Exception as error:
            if len(jobs) > 1:
                for job in jobs:
                    self._answer([job])
                return
            if not isinstance(error, BgrError):
                LOG.exception("a question could not be answered")
            self._report(jobs[0], error)
            return
        seconds = time.perf_counter() - started
        self.seconds_each = seconds / len(jobs)
        for job, result in zip(jobs, results, strict=True):
            self._report(job, Done(result, started - job.put, seconds))

    def _report(self, job: _Job[Item, Result], outcome: Done[Result] | Exception) -> None:
        with self._lock:
            self._pending -= 1  # before the caller knows, who may ask again at once

        def settle() -> None:
            if job.future.done():  # its caller has gone
                return
            if isinstance(outcome, Done):
                job.future.set_result(outcome)
            else:
                job.future.set_exception(outcome)

        try:
            job.loop.call_soon_threadsafe(settle)
        except RuntimeError:  # the loop has ended, nobody waits
            return
