"""Work that asks a language model step by step, many pieces at once: what they ask at one time is one batch."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Generic, TypeVar

from bgr.llm.interface import Request
from bgr.llm.language_model import Asks, Reply

T = TypeVar("T")


def together(llm: Asks, jobs: Sequence[Callable[[Asks], T]]) -> list[T]:
    """What each job returns, in order. A job is called with something to ask in place of `llm`.

    Jobs take turns: only one runs at any time, until it asks or ends, so they may share whatever they like, and the
    batches are the same in every run. Each turn's requests go to `llm` together, those of the first job first.

    Raises:
        Whatever `llm` or a job raises, after every job has ended; jobs that were asking are ended by `Stopped`.
    """
    running: list[_Job[T]] = []
    try:
        for work in jobs:
            running.append(_Job(work))  # there may be no thread for it
        for job in running:
            job.go_on()
        while asking := [job for job in running if job.requests is not None]:
            replies = iter(llm.ask([request for job in asking for request in job.requests or ()]))
            for job in asking:
                job.go_on([next(replies) for _ in job.requests or ()])
        return [job.result() for job in running]
    finally:
        for job in running:
            job.stop()


class Stopped(BaseException):
    """Ends a job whose replies will never come; nothing else may hold it."""


class _Job(Asks, Generic[T]):
    """A job in a thread of its own that stands still unless it has its turn."""

    def __init__(self, work: Callable[[Asks], T]) -> None:
        self.requests: list[Request] | None = None
        self._replies: list[Reply] | None = None
        self._turn, self._paused = threading.Semaphore(0), threading.Semaphore(0)
        self._done: list[T] = []
        self._ending = False
        self._error: BaseException | None = None
        self._thread = threading.Thread(target=self._run, args=(work,), daemon=True)
        self._thread.start()

    def go_on(self, replies: list[Reply] | None = None) -> None:
        """Give the job its turn, until it asks or ends; raises what it raised."""
        self.requests, self._replies = None, replies
        self._turn.release()
        self._paused.acquire()
        if self._error is not None:
            raise self._error

    def result(self) -> T:
        return self._done[0]

    def stop(self) -> None:
        """End the job wherever it stands."""
        self._ending = True
        self._turn.release()
        self._thread.join()

    def ask(self, requests: Sequence[Request]) -> list[Reply]:
        """Called by the job."""
        if not self._ending:
            self.requests = list(requests)
            self._paused.release()
            self._turn.acquire()
        if self._ending or self._replies is None:
            raise Stopped
        return self._replies

    def _run(self, work: Callable[[Asks], T]) -> None:
        self._turn.acquire()
        try:
            if not self._ending:
                self._done.append(work(self))
        except Stopped:
            pass
        except BaseException as error:  # handed to who waits
            self._error = error
        self._paused.release()
