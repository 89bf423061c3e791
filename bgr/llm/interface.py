"""Requests to a language model, its completions, and the interface of all backends."""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from bgr.errors import BgrError


@dataclass(frozen=True)
class Retries:
    """Tries of one call besides the one that counts, and the tokens of their replies; add instances with ``+``."""

    count: int = 0
    tokens_in: int = 0
    tokens_out: int = 0

    def __add__(self, other: Retries) -> Retries:
        tokens = self.tokens_in + other.tokens_in, self.tokens_out + other.tokens_out
        return Retries(self.count + other.count, *tokens)


class LlmError(BgrError):
    """A call that a backend could not complete. The message is one line with the backend and the problem."""

    def __init__(self, message: str, retries: Retries = Retries()) -> None:
        super().__init__(message)
        self.retries = retries


class Unanswerable(LlmError):
    """A call that can never be answered, such as a prompt that is too long for a local model; no run tries it again."""


class Unreachable(LlmError):
    """A call that failed for a reason that affects all calls, such as a refused key or a server that is gone."""


@dataclass(frozen=True)
class Message:
    """One turn of a chat; `role` is ``system``, ``user`` or ``assistant``."""

    role: str
    content: str


@dataclass(frozen=True)
class Request:
    """One call.

    Args:
        step: step of the calling method, for example ``gear.read``; for messages, not for the model.
        schema: JSON schema of the reply; ``None`` for free text.
        temperature: 0 selects the most likely token each time.
        seed: random seed for temperatures above 0.
        top_logprobs: number of most likely first tokens to return with their log-probabilities (`Completion.first`);
            servers allow up to 20, and 0 requests none.
    """

    step: str
    messages: tuple[Message, ...]
    schema: Mapping[str, Any] | None = None
    max_tokens: int = 512
    temperature: float = 0.0
    seed: int = 0
    top_logprobs: int = 0


Alternatives = tuple[tuple[str, float], ...]
"""Token texts and their natural log-probabilities, most likely first."""


@dataclass(frozen=True)
class Completion:
    """The reply of a model.

    Args:
        tokens_in, tokens_out: tokens of prompt and reply; `tokens_in` is 0 if the backend did not count them.
        cut: true if `max_tokens` ended the reply.
        first: the most likely first tokens; never empty if the request asks for them.
        clipped: true if the prompt was truncated to the context of the model.
        retries: its failed tries; ignored when replies are compared.
        seconds: time it took; ignored when replies are compared.
    """

    text: str
    tokens_in: int
    tokens_out: int
    cut: bool = False
    first: Alternatives = ()
    seconds: float = field(default=0.0, compare=False)
    clipped: bool = False
    retries: Retries = field(default=Retries(), compare=False)


Result = Completion | LlmError


class Backend:
    """A language model that can be called. Subclasses override `complete` or `each`.

    `name` identifies the model by everything that determines its replies. It is part of the key of cached replies.
    `concurrency` is the number of calls that are answered side by side, each as soon as it can be; 1 for a backend that
    answers a batch of calls together.
    """

    name: str
    concurrency: int = 1

    def complete(self, requests: Sequence[Request]) -> list[Result]:
        """One result for each request, in order. A failure does not affect the other requests."""
        return [result for _, result in sorted(self.each(requests), key=lambda pair: pair[0])]

    def each(self, requests: Sequence[Request]) -> Generator[tuple[int, Result], None, None]:
        """Yield the results of `complete` with the index of the request, in any order and as soon as they are known, so
        that they are cached even if the process is killed later. Closing the generator cancels the other requests."""
        yield from enumerate(self.complete(requests))

    def refusal(self, request: Request) -> LlmError | None:
        """The reason why a request can never be answered, if it is known without a call. In replay-only mode such a
        request is a failure, not a missing reply."""
        return None
