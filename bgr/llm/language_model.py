"""The language model as retrievers and readers use it: batches of requests in, parsed replies out."""

from __future__ import annotations

import json
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, CancelledError, Future, wait
from contextlib import closing
from dataclasses import dataclass, replace
from itertools import islice
from types import UnionType
from typing import Any, NamedTuple, TypeVar

from bgr.llm.failures import RESUME, StepFailures
from bgr.llm.interface import (
    Alternatives,
    Backend,
    Completion,
    LlmError,
    Message,
    Request,
    Result,
    Retries,
    Unanswerable,
    Unreachable,
)
from bgr.llm.prompts import AGAIN, Prompts
from bgr.llm.replay import Replay, ReplayError, key_of
from bgr.llm.structured import parse_object, parse_text
from bgr.llm.usage import Budget, Usage
from bgr.utils.workers import each_of, waiting

MAX_QUOTED = 2_000
"""Characters of a rejected reply that are quoted when the model is asked again."""


@dataclass(frozen=True)
class Reply:
    """The result of one request.

    Args:
        value: the text, or the object if the request has a schema; ``None`` for a failure.
        text: the model's last reply.
        failure: one line that says why there is no value.
        usage: usage of all calls for this request.
        first: the most likely first tokens of the text, if requested.
        cut: true if the last reply ended at its limit of tokens.
    """

    value: Any
    text: str
    failure: str | None
    usage: Usage
    first: Alternatives = ()
    cut: bool = False


class LanguageModel(ABC):
    """Interface of everything that answers requests: `Llm`, or a script in a test.

    `concurrency` is that of its `Backend`.
    """

    concurrency: int = 1

    @property
    def workers(self) -> int:
        """Number of questions to work on at a time: some compute while others wait, so it takes more of them than calls
        to keep a server busy. 1 if calls go in batches."""
        return 2 * self.concurrency if self.concurrency > 1 else 1

    @abstractmethod
    def ask(self, requests: Sequence[Request]) -> list[Reply]:
        """One reply for each request, in order. An unusable reply is a failure and does not raise.

        Raises:
            BgrError: the budget is exhausted, or the backend cannot be reached.
        """


class _Call(NamedTuple):
    """The result of one call and its usage."""

    result: Result
    usage: Usage


class Llm(LanguageModel):
    """A backend with a replay cache, a budget and one retry of replies that cannot be used.

    If a reply is unusable (an empty text, or an object that violates the schema even after repair), the model is asked
    once more and told the problem; a second unusable reply is a failure. A call that the backend could not complete is
    a failure at once. It is not cached, so the next run tries it again. Equal requests are sent once. Several threads
    may ask at the same time.
    """

    def __init__(self, backend: Backend, *, replay: Replay | None = None, budget: Budget | None = None) -> None:
        self.backend, self._replay, self._budget = backend, replay, budget
        self.concurrency = backend.concurrency
        self.usage = Usage()
        """Usage of all calls so far."""
        self._lock = threading.RLock()  # of what follows, of the usage, and of the replay cache
        self._under_way: dict[str, Future[Result]] = {}
        self._failures = StepFailures()

    def close(self) -> None:
        """Close the replay cache, if there is one."""
        if self._replay is not None:
            self._replay.close()

    def ask(self, requests: Sequence[Request]) -> list[Reply]:
        """One reply for each request, in order; at most two batches of calls.

        Raises:
            BudgetError: the budget is exhausted; replies so far are in the replay cache.
            ReplayError: a reply is missing in replay-only mode.
            LlmError: the model cannot be reached, or no call of a step was answered.
        """
        calls = self._call(requests)
        replies = [_parse(request, call) for request, call in zip(requests, calls, strict=True)]
        again = [i for i, call in enumerate(calls) if replies[i].failure and isinstance(call.result, Completion)]
        calls = self._call([_with_problem(requests[i], replies[i]) for i in again])
        for i, call in zip(again, calls, strict=True):
            reply = _parse(requests[i], call)
            last = reply if isinstance(call.result, Completion) else replies[i]
            replies[i] = replace(reply, text=last.text, cut=last.cut, usage=replies[i].usage + reply.usage)
        for i, reply in enumerate(replies):
            if reply.failure is not None:
                replies[i] = replace(reply, usage=reply.usage + self._count(Usage(failed=1)))
        return replies

    def _count(self, usage: Usage) -> Usage:
        """Add to the usage of all calls."""
        with self._lock:
            self.usage += usage
        return usage

    def _call(self, requests: Sequence[Request]) -> list[_Call]:
        """One call for each request, in order. A repeated request counts as cached, also if another thread sends it."""
        keys = [key_of(self.backend.name, request) for request in requests]
        calls: dict[int, _Call] = {}
        first: dict[str, int] = {}  # the first request with each key that is not cached
        others: dict[str, Future[Result]] = {}  # sent by other threads
        with self._lock:
            for i, key in enumerate(keys):
                known = key in first or key in others
                cached = self._replay.get(key) if self._replay is not None and not known else None
                if cached is not None:
                    calls[i] = self._repeated(cached)
                elif not known and key in self._under_way:
                    others[key] = self._under_way[key]
                elif not known:
                    first[key] = i
            mine: dict[str, Future[Result]] = {key: Future() for key in first}
            self._under_way |= mine
        try:
            sent = self._send({key: requests[i] for key, i in first.items()}, mine)
        finally:
            with self._lock:
                for key, future in mine.items():
                    if self._under_way.get(key) is future:
                        del self._under_way[key]
                    if not future.done():
                        future.set_result(LlmError("the call was stopped"))
        self._failures.check([(requests[first[key]].step, call.result) for key, call in sent.items()])
        for i, key in enumerate(keys):
            if i not in calls and key in first:
                calls[i] = sent[key] if first[key] == i else self._repeated(sent[key].result)
            elif i not in calls:
                calls[i] = self._repeated(_result_of(others[key]))
        return [calls[i] for i in range(len(keys))]

    def _send(self, missing: dict[str, Request], promised: Mapping[str, Future[Result]]) -> dict[str, _Call]:
        """Send requests by key; each result is cached and counted as soon as it arrives.

        The seconds of a call are counted from the previous result of the batch, so their sum is its elapsed time.

        Raises:
            Unreachable: a call failed for a reason that affects all others.
        """
        if not missing:
            return {}
        if self._replay is not None and self._replay.replay_only:
            return self._refused(missing, self._replay)
        self._check_budget()
        keys, requests, done = list(missing), list(missing.values()), {}
        before = time.perf_counter()
        # always closed, so that calls in progress do not continue after the budget is exhausted
        with closing(self.backend.each(requests)) as results:
            for i, result in results:
                now = time.perf_counter()
                with self._lock:
                    result = self._cached(keys[i], requests[i], result, now - before)
                    done[keys[i]] = self._counted(result, Usage(calls=1, seconds=now - before))
                    promised[keys[i]].set_result(result)
                    del self._under_way[keys[i]]
                before = now
                if isinstance(result, Unreachable):
                    raise Unreachable(f"{result}; {RESUME}")
                if len(done) < len(keys):
                    self._check_budget()
        return done

    def _check_budget(self) -> None:
        """Check that the calls under way, of all threads, are within the budget."""
        with self._lock:
            if self._budget is not None:
                self._budget.check(self.usage, len(self._under_way))

    def _refused(self, missing: dict[str, Request], replay: Replay) -> dict[str, _Call]:
        """Failures of requests that can never be answered; any other request is missing from the cache."""
        found = {key: self.backend.refusal(request) for key, request in missing.items()}
        lost = [missing[key].step for key, why in found.items() if why is None]
        if lost:
            raise ReplayError(
                f"{replay.path}: {len(lost):,} replies of step {lost[0]} are missing for {self.backend.name}; "
                "run without --replay-only to ask for them"
            )
        return {key: self._counted(why, Usage()) for key, why in found.items() if why is not None}

    def _cached(self, key: str, request: Request, result: Result, seconds: float) -> Result:
        """The result; a reply is cached without characters that cannot be encoded, and an empty one not at all."""
        if isinstance(result, LlmError):
            return result
        clean = replace(result, text=result.text.encode("utf-8", "replace").decode(), seconds=seconds)
        if self._replay is None or not (clean.text.strip() or clean.first):
            return clean
        return replace(self._replay.put(key, self.backend.name, request.step, clean), retries=clean.retries)

    def _counted(self, result: Result, usage: Usage) -> _Call:
        """The call with its tokens, added to the usage. Failed calls are not counted as answered."""
        spent = result.retries
        usage = replace(usage, tokens_in=spent.tokens_in, tokens_out=spent.tokens_out, retried=spent.count)
        if isinstance(result, LlmError):
            usage = replace(usage, calls=0, unanswered=int(not isinstance(result, Unanswerable)))
        else:
            usage += Usage(
                tokens_in=result.tokens_in,
                tokens_out=result.tokens_out,
                uncounted=int(result.tokens_in == 0),
                cut=int(result.cut),
                clipped=int(result.clipped),
            )
        return _Call(result, self._count(usage))

    def _repeated(self, result: Result) -> _Call:
        """The call of a request whose result is known."""
        if isinstance(result, LlmError):
            return self._counted(type(result)(str(result)), Usage())
        return self._counted(replace(result, retries=Retries()), Usage(cached=1, seconds_saved=result.seconds))


def _result_of(future: Future[Result]) -> Result:
    """The result of a call that another thread sends; CancelledError if this thread is stopped before."""
    stop: Future[Result] = Future()
    with waiting(lambda: stop.set_result(LlmError("stopped")) if not stop.done() else None):
        wait([future, stop], return_when=FIRST_COMPLETED)
    if not future.done():
        raise CancelledError
    return future.result()


def _parse(request: Request, call: _Call) -> Reply:
    if isinstance(call.result, LlmError):
        return Reply(None, "", " ".join(str(call.result).split()), call.usage)
    text, first, cut = call.result.text, call.result.first, call.result.cut
    value, problem = parse_text(text) if request.schema is None else parse_object(text, request.schema, cut=cut)
    if request.schema is None and first and problem:
        value, problem = "", None  # only the alternatives are needed: a reply of white space is fine
    return Reply(value, text, problem, call.usage, first, cut)


def _with_problem(request: Request, reply: Reply) -> Request:
    """The request with two more turns: the reply and its problem."""
    # some chat templates refuse an empty turn, or two of the same role in a row
    quoted = reply.text[:MAX_QUOTED] if reply.text.strip() else "(nothing)"
    prompt = Prompts(AGAIN)("again_text" if request.schema is None else "again_object")
    prompt = prompt.replace("{schema}", json.dumps(request.schema)).replace("{problem}", str(reply.failure))
    return replace(request, messages=(*request.messages, Message("assistant", quoted), Message("user", prompt)))


S = TypeVar("S")
T = TypeVar("T")


def each_batch(
    llm: LanguageModel, items: Iterable[S], size: int, work: Callable[[list[S]], T]
) -> Iterator[tuple[list[S], T]]:
    """Yield batches of items with the result of `work`, which asks `llm`, as soon as it is known.

    If the model answers calls side by side, each item is a batch of its own and as many are in work as calls are
    allowed; otherwise one batch of `size` items follows the other.
    """
    batches = _batches(iter(items), 1 if llm.concurrency > 1 else size)
    with closing(each_of(lambda batch: (batch, work(batch)), batches, llm.workers)) as found:
        yield from (result for _, result in found)


def _batches(items: Iterator[S], size: int) -> Iterator[list[S]]:
    while batch := list(islice(items, size)):
        yield batch


class ParsedReply(NamedTuple):
    """The result of a step of a method: its value, one line for a failure, and the usage including that failure."""

    value: Any
    failure: str | None
    usage: Usage


def failed(reply: Reply, value: Any, problem: str) -> ParsedReply:
    """A failed step with a substitute value. The failure is the reply's own, or that the reply holds `problem`."""
    if reply.failure is not None:  # already counted by `Llm.ask`
        return ParsedReply(value, reply.failure, reply.usage)
    return ParsedReply(value, f"the reply holds {problem}", reply.usage + Usage(failed=1))


def field_of(value: Any, key: str, kind: type | UnionType) -> Any:
    """A field of an object if it has the given type, else ``None``; `value` may be anything."""
    found = value.get(key) if isinstance(value, dict) else None
    return found if isinstance(found, kind) else None
