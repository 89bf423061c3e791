"""Calls as they are paid for: looked up, limited, sent, kept and counted."""

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
    """What came of one call, and what it took."""

    result: Result
    usage: Usage


class Calls:
    """A backend with a replay cache, a budget and accounts, each of them optional but the last.

    The seconds of a call are those since the result before it: their sum is the time that passed.
    """

    def __init__(self, backend: Backend, replay: Replay | None = None, budget: Budget | None = None) -> None:
        self.backend, self.replay, self.budget = backend, replay, budget
        self.by_step: dict[str, Usage] = {}

    @property
    def usage(self) -> Usage:
        """Of all steps."""
        return sum(self.by_step.values(), Usage())

    def count(self, step: str, usage: Usage) -> None:
        """Add to the accounts of a step."""
        self.by_step[step] = self.by_step.get(step, Usage()) + usage

    def make(self, requests: Sequence[Request]) -> list[Call]:
        """One call for each request, in order; requests that are the same are sent once. Failures are not kept.

        Raises:
            BudgetError: see `Budget`.
            ReplayError: a reply is missing, and the cache alone may answer.
            LlmError: no request that was sent could reach the model.
        """
        keys = [key_of(self.backend.name, request) for request in requests]
        calls: dict[int, Call] = {}
        missing: dict[str, Request] = {}
        sent_for: dict[int, str] = {}
        for i, (key, request) in enumerate(zip(keys, requests, strict=True)):
            kept = self.replay.get(key) if self.replay is not None and key not in missing else None
            if kept is not None:
                calls[i] = self._counted(request, kept, Usage(cached=1, seconds_saved=kept.seconds))
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
        """Send requests by key; each result is kept and counted when it comes."""
        if not missing:
            return {}
        if self.replay is not None and self.replay.replay_only:
            return self._refused(missing, self.replay)
        if self.budget is not None:
            self.budget.check(self.usage, len(missing))
        keys, requests, done = list(missing), list(missing.values()), {}
        before = time.perf_counter()
        # closed on every way out, so that calls under way do not go on behind a budget's back
        with closing(self.backend.each(requests)) as results:
            for i, result in results:
                now = time.perf_counter()
                kept = self._kept(keys[i], requests[i], result, now - before)
                done[keys[i]] = self._counted(requests[i], kept, Usage(calls=1, seconds=now - before))
                before = now
                if self.budget is not None and len(done) < len(keys):
                    self.budget.check(self.usage, len(keys) - len(done))
        failures = [call.result for call in done.values() if isinstance(call.result, Unreachable)]
        if len(failures) == len(keys):
            raise Unreachable(f"{failures[0]}; nothing that was answered is lost: run again to go on")
        return done

    def _refused(self, missing: dict[str, Request], replay: Replay) -> dict[str, Call]:
        """Requests that failed before, too, without being sent; every other one is missing from the cache."""
        found = {key: self.backend.refusal(request) for key, request in missing.items()}
        lost = [missing[key].step for key, why in found.items() if why is None]
        if lost:
            raise ReplayError(
                f"{replay.path}: {len(lost):,} replies of step {lost[0]} are missing for {self.backend.name}; "
                "run without --replay-only to ask for them"
            )
        return {key: self._counted(missing[key], why, Usage()) for key, why in found.items() if why is not None}

    def _kept(self, key: str, request: Request, result: Result, seconds: float) -> Result:
        """The result; a reply cleaned of what no file can hold, and kept."""
        if isinstance(result, LlmError):
            return result
        clean = replace(result, text=result.text.encode("utf-8", "replace").decode(), seconds=seconds)
        return clean if self.replay is None else self.replay.keep(key, self.backend.name, request.step, clean)

    def _counted(self, request: Request, result: Result, usage: Usage) -> Call:
        """A call with its tokens, in the accounts. One that failed is none that a model answered."""
        if isinstance(result, LlmError):
            usage = replace(usage, calls=0)
        else:
            tokens = {"tokens_in": result.tokens_in, "tokens_out": result.tokens_out}
            usage = replace(usage, **tokens, uncounted=int(result.tokens_in == 0))
        self.count(request.step, usage)
        return Call(result, usage)

    def _same(self, request: Request, sent: Call) -> Call:
        """The call of a request that is the same as one that was sent."""
        if isinstance(sent.result, LlmError):
            return self._counted(request, sent.result, Usage())
        return self._counted(request, sent.result, Usage(cached=1, seconds_saved=sent.result.seconds))
