"""Calls of a language model with replay cache, budget and usage statistics."""

from __future__ import annotations

import time
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass, replace

from bgr.llm.interface import Backend, Completion, LlmError, Request, Unreachable
from bgr.llm.replay import Replay, ReplayError, key_of
from bgr.llm.usage import Budget, Usage

Result = Completion | LlmError


@dataclass(frozen=True)
class Call:
    """The result of one call and its usage."""

    result: Result
    usage: Usage


class Calls:
    """A backend with an optional replay cache, an optional budget, and usage statistics.

    The seconds of a call are counted from the previous result, so their sum is the elapsed time.
    """

    def __init__(self, backend: Backend, replay: Replay | None = None, budget: Budget | None = None) -> None:
        self.backend, self.replay, self.budget = backend, replay, budget
        self.by_step: dict[str, Usage] = {}

    @property
    def usage(self) -> Usage:
        """Usage of all steps."""
        return sum(self.by_step.values(), Usage())

    def count(self, step: str, usage: Usage) -> None:
        """Add to the usage of a step."""
        self.by_step[step] = self.by_step.get(step, Usage()) + usage

    def make(self, requests: Sequence[Request]) -> list[Call]:
        """One call for each request, in order. Equal requests are sent once. Failures are not cached.

        Raises:
            BudgetError: see `Budget`.
            ReplayError: a reply is missing in replay-only mode.
            LlmError: no request that was sent could reach the model.
        """
        keys = [key_of(self.backend.name, request) for request in requests]
        calls: dict[int, Call] = {}
        missing: dict[str, Request] = {}
        sent_for: dict[int, str] = {}
        for i, (key, request) in enumerate(zip(keys, requests, strict=True)):
            cached = self.replay.get(key) if self.replay is not None and key not in missing else None
            if cached is not None:
                calls[i] = self._counted(request, cached, Usage(cached=1, seconds_saved=cached.seconds))
            elif key not in missing:
                missing[key], sent_for[i] = request, key
        fresh = self._send(missing)
        for i, key in enumerate(keys):
            if i in sent_for:
                calls[i] = fresh[key]
            elif i not in calls:
                calls[i] = self._same(requests[i], fresh[key])
        return [calls[i] for i in range(len(requests))]

    def _send(self, missing: dict[str, Request]) -> dict[str, Call]:
        """Send requests by key; each result is cached and counted as soon as it arrives."""
        if not missing:
            return {}
        if self.replay is not None and self.replay.replay_only:
            return self._refused(missing, self.replay)
        if self.budget is not None:
            self.budget.check(self.usage, len(missing))
        keys, requests, done = list(missing), list(missing.values()), {}
        before = time.perf_counter()
        # always closed, so that calls in progress do not continue after the budget is exhausted
        with closing(self.backend.each(requests)) as results:
            for i, result in results:
                now = time.perf_counter()
                result = self._cached(keys[i], requests[i], result, now - before)
                done[keys[i]] = self._counted(requests[i], result, Usage(calls=1, seconds=now - before))
                before = now
                if self.budget is not None and len(done) < len(keys):
                    self.budget.check(self.usage, len(keys) - len(done))
        failures = [call.result for call in done.values() if isinstance(call.result, Unreachable)]
        if len(failures) == len(keys):
            raise Unreachable(f"{failures[0]}; answered calls are not lost: run again to resume")
        return done

    def _refused(self, missing: dict[str, Request], replay: Replay) -> dict[str, Call]:
        """Failures of requests that can never be answered; any other request is missing from the cache."""
        found = {key: self.backend.refusal(request) for key, request in missing.items()}
        lost = [missing[key].step for key, why in found.items() if why is None]
        if lost:
            raise ReplayError(
                f"{replay.path}: {len(lost):,} replies of step {lost[0]} are missing for {self.backend.name}; "
                "run without --replay-only to ask for them"
            )
        return {key: self._counted(missing[key], why, Usage()) for key, why in found.items() if why is not None}

    def _cached(self, key: str, request: Request, result: Result, seconds: float) -> Result:
        """The result; a reply is cached without characters that cannot be encoded."""
        if isinstance(result, LlmError):
            return result
        clean = replace(result, text=result.text.encode("utf-8", "replace").decode(), seconds=seconds)
        return clean if self.replay is None else self.replay.put(key, self.backend.name, request.step, clean)

    def _counted(self, request: Request, result: Result, usage: Usage) -> Call:
        """The call with its tokens, added to the usage of its step. Failed calls are not counted as answered."""
        if isinstance(result, LlmError):
            usage = replace(usage, calls=0)
        else:
            tokens = {"tokens_in": result.tokens_in, "tokens_out": result.tokens_out}
            usage = replace(usage, **tokens, uncounted=int(result.tokens_in == 0))
        self.count(request.step, usage)
        return Call(result, usage)

    def _same(self, request: Request, sent: Call) -> Call:
        """The call of a request that equals one that was sent."""
        if isinstance(sent.result, LlmError):
            return self._counted(request, sent.result, Usage())
        return self._counted(request, sent.result, Usage(cached=1, seconds_saved=sent.result.seconds))
