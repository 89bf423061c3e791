"""The work behind the HTTP API: questions wait in a queue before one thread with the models, which can be exchanged."""

from __future__ import annotations

import asyncio
import gc
import math
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from fastapi import Request

from bgr.errors import BgrError, DataError
from bgr.reader.answer import Answer
from bgr.serve.answering import Answering, Job
from bgr.serve.metrics import Metrics
from bgr.serve.options import ServeOptions
from bgr.serve.schema import AnswerResponse, AskRequest, Failure, Milliseconds
from bgr.serve.sources import Sources
from bgr.serve.worker import Done, Worker, one_thread


class LateError(Exception):
    """The answers did not come in time."""


class GoneError(Exception):
    """The client did not wait."""


class ReloadError(BgrError):
    """The models cannot be loaded again: not now, or not by this client."""


class Service:
    """The API's work: a queue before one thread with the models.

    Args:
        answering: checks and answers requests.
        options: limits.
        thread: see `Worker`.
        load: loads the sources again, for `reload`; ``None`` if they cannot be.

    Attributes:
        on_death: called if the thread with the models has ended by an error.
    """

    def __init__(
        self,
        answering: Answering,
        options: ServeOptions,
        thread: ThreadPoolExecutor | None = None,
        load: Callable[[], Sources] | None = None,
    ) -> None:
        self.answering, self.options, self.load = answering, options, load
        self.metrics = Metrics(lambda: self.pending)
        self.on_death: Callable[[], None] = lambda: None
        self.reloading = False
        self._former: list[Worker[Job, Answer]] = []
        self._dropping: asyncio.Task[None] | None = None
        self.worker = self._worker(answering, thread)

    def _worker(self, answering: Answering, thread: ThreadPoolExecutor | None) -> Worker[Job, Answer]:
        options = self.options
        return Worker(
            answering.answers,
            max_queue=options.max_queue,
            batch_size=options.batch_size,
            wait=options.batch_wait / 1000,
            on_batch=self.metrics.batch_sizes.observe,
            on_death=lambda error: self.on_death(),
            thread=thread,
        )

    @property
    def pending(self) -> int:
        """Number of questions that wait or are being answered, by former models too."""
        return self.worker.pending + sum(one.pending for one in self._former)

    async def reload(self) -> None:
        """Load the sources again beside those in use, and let them answer the questions that come from then on; those
        that wait are answered by the former ones, which are then dropped.

        Raises:
            ReloadError: they are being loaded already, the server is stopping, or it has no way to load them.
            BgrError: they cannot be loaded; the former ones stay.
        """
        if self.load is None:
            raise ReloadError("this server cannot load its models again")
        if self.reloading:
            raise ReloadError("the models are being loaded already")
        thread = one_thread()
        self.reloading = True
        try:
            sources = await asyncio.wrap_future(thread.submit(self.load))
            if self.worker.stopped:
                raise ReloadError("the server is stopping")
            answering = Answering(sources, max_facts=self.options.max_facts, pool=self.options.pool)
            former, self.worker = self.worker, self._worker(answering, thread)
            self.answering = answering
            former.stop(0)
            self._former.append(former)
            self._dropping = asyncio.create_task(self._drop(former))
        finally:
            thread.shutdown(wait=False)
            self.reloading = False

    async def _drop(self, former: Worker[Job, Answer]) -> None:
        """Free the memory of former models when they have answered all that waits."""
        await asyncio.to_thread(former.stop)
        self._former.remove(former)
        del former
        gc.collect()

    def stop(self, seconds: float) -> bool:
        """Take no more questions, answer those that wait, and end. Whether that was in time."""
        end = time.monotonic() + seconds
        ended = [one.stop(max(0.0, end - time.monotonic())) for one in (self.worker, *self._former)]
        return all(ended)

    async def answer(self, request: Request, asked: AskRequest) -> AnswerResponse:
        """Answer one question."""
        answering = self.answering
        job = answering.job(asked)
        outcome = (await self._wait(request, [job]))[0]
        found = self._response(answering, job, outcome)
        if isinstance(found, BaseException):
            raise found
        return found

    async def answer_batch(self, request: Request, asked: Sequence[AskRequest]) -> list[AnswerResponse | Failure]:
        """Answer several questions; one that cannot be answered becomes a `Failure`."""
        if len(asked) > self.options.max_queue:
            raise DataError(f"{len(asked):,} requests, allowed: {self.options.max_queue:,}")
        answering = self.answering
        jobs: dict[int, Job] = {}
        found: dict[int, AnswerResponse | Failure] = {}
        for number, one in enumerate(asked):
            try:
                jobs[number] = answering.job(one)
            except BgrError as error:
                found[number] = Failure(error=one_line(error))
        outcomes = await self._wait(request, list(jobs.values())) if jobs else []
        for (number, job), outcome in zip(jobs.items(), outcomes, strict=True):
            answered = self._response(answering, job, outcome)
            found[number] = answered if isinstance(answered, AnswerResponse) else Failure(error=one_line(answered))
        return [found[number] for number in range(len(asked))]

    async def _wait(self, request: Request, jobs: Sequence[Job]) -> list[Done[Answer] | BaseException]:
        """Outcomes of the jobs, in order. They are given up if the client goes away or the time is over: that of one
        question for each batch that the jobs fill."""
        futures = self.worker.submit(jobs)
        answered = asyncio.gather(*futures, return_exceptions=True)
        gone = asyncio.create_task(_disconnected(request))
        waiting: set[asyncio.Future[Any]] = {answered, gone}
        seconds = self.options.timeout * math.ceil(len(jobs) / self.options.batch_size)
        try:
            await asyncio.wait(waiting, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
            if answered.done():
                return answered.result()
            answered.add_done_callback(_retrieve)
            answered.cancel()
            raise GoneError if gone.done() else LateError(f"no answer within {seconds:g} s")
        finally:
            gone.cancel()

    def _response(
        self, answering: Answering, job: Job, outcome: Done[Answer] | BaseException
    ) -> AnswerResponse | BaseException:
        if isinstance(outcome, BaseException):
            self.metrics.questions.labels(job.system, "failed").inc()
            return outcome
        answer = outcome.result
        nothing = answer.text is None if answer.has_reader else not answer.graph.nodes
        self.metrics.questions.labels(job.system, "nothing" if nothing else "answered").inc()
        took = Milliseconds(waited=1000 * outcome.waited, answered=1000 * outcome.seconds)
        return answering.respond(job, answer, took)


def _retrieve(given_up: asyncio.Future[Any]) -> None:
    """Look at the exception of work that was given up, since asyncio logs one that nobody has looked at."""
    if not given_up.cancelled():
        given_up.exception()


async def _disconnected(request: Request) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        pass


def one_line(error: BaseException) -> str:
    """The error line of a response: the message of an error that users can fix; nothing about the inside of others."""
    return " ".join(str(error).split()) if isinstance(error, BgrError) else "the server failed at this question"
