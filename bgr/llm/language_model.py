"""The language model as retrievers and readers use it: batches of requests in, parsed replies out.

`Llm` combines a backend with a replay cache, a budget and one retry of replies that cannot be parsed. `ParsedReply` is
the result of one step of a method.
"""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache
from importlib.resources import files
from typing import Any, NamedTuple

from bgr.llm.calls import Call, Calls
from bgr.llm.interface import Alternatives, Backend, LlmError, Message, Request
from bgr.llm.replay import Replay
from bgr.llm.structured import parse_object, parse_text
from bgr.llm.usage import Budget, Usage

MAX_QUOTED = 2_000
"""Characters of a rejected reply that are quoted when the model is asked again."""


@dataclass(frozen=True)
class Reply:
    """The result of one request.

    Args:
        value: the text, or the object if the request has a schema; ``None`` for a failure.
        text: the text of the model's last reply.
        failure: one line that says why there is no value.
        usage: usage of all calls for this request.
        first: the most likely first tokens of that text with their log-probabilities, if requested.
    """

    value: Any
    text: str
    failure: str | None
    usage: Usage
    first: Alternatives = ()


class LanguageModel(ABC):
    """Interface of everything that answers requests: `Llm`, or a script in a test."""

    @abstractmethod
    def ask(self, requests: Sequence[Request]) -> list[Reply]:
        """One reply for each request, in order. An unusable reply is a failure, never an exception. Only an exhausted
        budget or an unreachable backend raises (`BgrError`)."""


class Llm(LanguageModel):
    """A backend with a replay cache and a budget.

    If a reply is unusable (an empty text, or an object that violates the schema even after repair), the model is asked
    once more and told the problem; a second unusable reply is a failure. A call that the backend could not complete is
    a failure at once. It is not cached, so the next run tries it again.

    Args:
        backend: the model.
        replay: cache of replies; ``None`` for no cache.
        budget: limits of the run.
    """

    def __init__(self, backend: Backend, *, replay: Replay | None = None, budget: Budget | None = None) -> None:
        self.backend = backend
        self._calls = Calls(backend, replay, budget)

    @property
    def usage(self) -> Usage:
        """Usage of all calls so far."""
        return self._calls.usage

    @property
    def usage_by_step(self) -> dict[str, Usage]:
        """Usage of all calls so far, by step."""
        return dict(self._calls.by_step)

    def ask(self, requests: Sequence[Request]) -> list[Reply]:
        """One reply for each request, in order; at most two batches of calls.

        Raises:
            BudgetError: the budget is exhausted; replies so far are in the replay cache.
            ReplayError: a reply is missing in replay-only mode.
            LlmError: no call of a batch could reach the model.
        """
        replies = [_parse(request, call) for request, call in zip(requests, self._calls.make(requests), strict=True)]
        again = [i for i, reply in enumerate(replies) if reply.failure and not isinstance(reply, _Lost)]
        calls = self._calls.make([_with_problem(requests[i], replies[i]) for i in again])
        for i, call in zip(again, calls, strict=True):
            reply = _parse(requests[i], call)
            text = replies[i].text if isinstance(reply, _Lost) else reply.text
            replies[i] = replace(reply, text=text, usage=replies[i].usage + reply.usage)
        return [self._closed(request, reply) for request, reply in zip(requests, replies, strict=True)]

    def _closed(self, request: Request, reply: Reply) -> Reply:
        """The final reply; a failure is added to the usage."""
        failed = Usage(failed=int(reply.failure is not None))
        self._calls.count(request.step, failed)
        return Reply(reply.value, reply.text, reply.failure, reply.usage + failed, reply.first)


class _Lost(Reply):
    """A reply that never arrived; asking the model again would not help."""


def _parse(request: Request, call: Call) -> Reply:
    if isinstance(call.result, LlmError):
        return _Lost(None, "", " ".join(str(call.result).split()), call.usage)
    text, first = call.result.text, call.result.first
    value, problem = parse_text(text) if request.schema is None else parse_object(text, request.schema)
    if request.schema is None and first and problem:
        value, problem = "", None  # only the alternatives are needed: a reply of white space is fine
    return Reply(value, text, problem, call.usage, first)


def _with_problem(request: Request, reply: Reply) -> Request:
    """The request with two more turns: the reply and its problem."""
    # some chat templates refuse an empty turn, or two of the same role in a row
    quoted = reply.text[:MAX_QUOTED] if reply.text.strip() else "(nothing)"
    prompt = _prompt("again_text" if request.schema is None else "again_object")
    prompt = prompt.replace("{schema}", json.dumps(request.schema)).replace("{problem}", str(reply.failure))
    return replace(request, messages=(*request.messages, Message("assistant", quoted), Message("user", prompt)))


@cache
def _prompt(name: str) -> str:
    return (files("bgr.llm") / "prompts" / f"{name}.md").read_text(encoding="utf-8").strip()


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


def field_of(value: Any, key: str, kind: type) -> Any:
    """A field of an object if it has the given type, else ``None``; `value` may be anything."""
    found = value.get(key) if isinstance(value, dict) else None
    return found if isinstance(found, kind) else None
