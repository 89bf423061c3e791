"""What a method makes of a reply: every step of every method gives this, and counts its failures alike.

The language model as every method uses it: ask for text or for objects, many at once, and nothing breaks.
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

MOST_QUOTED = 2_000
"""Characters of a reply that the model is shown again with what is wrong with it."""


@dataclass(frozen=True)
class Reply:
    """What came of one request.

    Args:
        value: the text; the object, where the request has a schema and the reply fits it; ``None`` where it failed.
        text: as the model wrote it, the last time it was asked.
        failure: one line, why there is no value.
        usage: of all calls of this request.
        first: likeliest first tokens of that text with their log-probabilities, where the request wants them.
    """

    value: Any
    text: str
    failure: str | None
    usage: Usage
    first: Alternatives = ()


class Asks(ABC):
    """Anything that answers requests: `Llm`, or a script in a test."""

    @abstractmethod
    def ask(self, requests: Sequence[Request]) -> list[Reply]:
        """One reply for each request, in order. A reply that cannot be used is a failure, never an exception; only a
        budget that is used up, or a backend that cannot be reached at all, ends the run (`BgrError`)."""


class Llm(Asks):
    """A backend behind a replay cache and a budget. A reply that cannot be used (an object that does not fit the
    schema even when repaired, an empty text) is asked for once more with what is wrong, then given up: a failure. A
    call that the backend could not finish is a failure at once; it is not kept, so the next run tries it again.

    Args:
        backend: the model.
        replay: where replies are kept; ``None`` keeps none.
        budget: what the run may take.
    """

    def __init__(self, backend: Backend, *, replay: Replay | None = None, budget: Budget | None = None) -> None:
        self.backend = backend
        self._calls = Calls(backend, replay, budget)

    @property
    def usage(self) -> Usage:
        """Of all calls so far."""
        return self._calls.usage

    @property
    def usage_by_step(self) -> dict[str, Usage]:
        """The same, by the step of the request."""
        return dict(self._calls.by_step)

    def ask(self, requests: Sequence[Request]) -> list[Reply]:
        """One reply for each request, in order; at most two batches of calls.

        Raises:
            BudgetError: the budget is used up; replies so far are in the replay cache.
            ReplayError: a reply is missing, and the replay cache alone may answer.
            LlmError: no call of a batch could reach the model.
        """
        replies = [_read(request, call) for request, call in zip(requests, self._calls.make(requests), strict=True)]
        again = [i for i, reply in enumerate(replies) if reply.failure and not isinstance(reply, _Lost)]
        calls = self._calls.make([_with_problem(requests[i], replies[i]) for i in again])
        for i, call in zip(again, calls, strict=True):
            reply = _read(requests[i], call)
            text = replies[i].text if isinstance(reply, _Lost) else reply.text
            replies[i] = replace(reply, text=text, usage=replies[i].usage + reply.usage)
        return [self._closed(request, reply) for request, reply in zip(requests, replies, strict=True)]

    def _closed(self, request: Request, reply: Reply) -> Reply:
        """The reply as it is given out, counted where it failed."""
        failed = Usage(failed=int(reply.failure is not None))
        self._calls.count(request.step, failed)
        return Reply(reply.value, reply.text, reply.failure, reply.usage + failed, reply.first)


class _Lost(Reply):
    """A reply that never came: asking the model again would not help."""


def _read(request: Request, call: Call) -> Reply:
    if isinstance(call.result, LlmError):
        return _Lost(None, "", " ".join(str(call.result).split()), call.usage)
    text, first = call.result.text, call.result.first
    value, problem = parse_text(text) if request.schema is None else parse_object(text, request.schema)
    if request.schema is None and first and problem:
        value, problem = "", None  # the alternatives are what is wanted: a first token of white space is as good
    return Reply(value, text, problem, call.usage, first)


def _with_problem(request: Request, reply: Reply) -> Request:
    """The request with the reply and what is wrong with it as two more turns."""
    # some chat templates refuse an empty turn, or two of the same role in a row
    quoted = reply.text[:MOST_QUOTED] if reply.text.strip() else "(nothing)"
    wanted = _prompt("again_text" if request.schema is None else "again_object")
    wanted = wanted.replace("{schema}", json.dumps(request.schema)).replace("{problem}", str(reply.failure))
    return replace(request, messages=(*request.messages, Message("assistant", quoted), Message("user", wanted)))


@cache
def _prompt(name: str) -> str:
    return (files("bgr.llm") / "prompts" / f"{name}.md").read_text(encoding="utf-8").strip()


class Read(NamedTuple):
    """What came of a step: its value, one line if it failed, and the usage with that failure counted."""

    value: Any
    failure: str | None
    usage: Usage


def failed(reply: Reply, value: Any, problem: str) -> Read:
    """A step that failed, with what stands in its place: the reply's own failure, else what the reply holds none of."""
    if reply.failure is not None:  # counted already, by who asked
        return Read(value, reply.failure, reply.usage)
    return Read(value, f"the reply holds {problem}", reply.usage + Usage(failed=1))


def field_of(value: Any, key: str, kind: type) -> Any:
    """A field of an object if it is of that type, else ``None``; a reply may be anything."""
    found = value.get(key) if isinstance(value, dict) else None
    return found if isinstance(found, kind) else None
