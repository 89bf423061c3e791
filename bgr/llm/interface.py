"""What a language model takes and gives; every backend has this shape."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Generator, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from bgr.errors import BgrError


class LlmError(BgrError):
    """A call that a backend could not finish. The message is one line: which backend, what happened, after how many
    tries."""


class Unreachable(LlmError):
    """A call that failed for a reason that all calls share: no server there, one that is overloaded for longer than all
    tries, or one that refuses the key or the model."""


@dataclass(frozen=True)
class Message:
    """A turn of a chat; `role` is ``system``, ``user`` or ``assistant``."""

    role: str
    content: str


@dataclass(frozen=True)
class Request:
    """One call.

    Args:
        step: of the method that asks, ``gear.read`` for example; for the accounts, not for the model.
        messages: the chat so far.
        schema: JSON schema of the object that the reply must be; ``None`` for free text.
        max_tokens: longest reply.
        temperature: 0 takes the likeliest token each time.
        seed: of the draws where the temperature is not 0.
        top_logprobs: how many of the likeliest beginnings of the reply are wanted with their log-probabilities
            (`Completion.first`); servers allow up to 20, 0 wants none.
    """

    step: str
    messages: tuple[Message, ...]
    schema: Mapping[str, Any] | None = None
    max_tokens: int = 512
    temperature: float = 0.0
    seed: int = 0
    top_logprobs: int = 0


Alternatives = tuple[tuple[str, float], ...]
"""Texts of tokens and their natural log-probabilities, the likeliest first."""


@dataclass(frozen=True)
class Completion:
    """What the model wrote, and the tokens it read and wrote; 0 read says that they were not counted, as no prompt is
    empty. `cut` where `max_tokens` ended it; `first` the likeliest tokens in the place of the first one, never empty
    where the request wants them; `seconds` in making it, which decide nothing: two replies may be equal that took
    longer and shorter."""

    text: str
    tokens_in: int
    tokens_out: int
    cut: bool = False
    first: Alternatives = ()
    seconds: float = field(default=0.0, compare=False)


class Backend(ABC):
    """A model that can be called.

    `name` says which model it is, by all that decides its replies: it is part of the key under which replies are kept.
    """

    name: str

    @abstractmethod
    def complete(self, requests: Sequence[Request]) -> list[Completion | LlmError]:
        """One result for each request, in order; one that fails takes none of the others with it."""

    def each(self, requests: Sequence[Request]) -> Generator[tuple[int, Completion | LlmError], None, None]:
        """What `complete` gives, with the number of its request, in any order. A backend that finishes some requests
        before others gives them as they come, so that they can be kept even if the process is killed; when the
        generator is closed, the rest is given up."""
        yield from enumerate(self.complete(requests))

    def refusal(self, request: Request) -> LlmError | None:
        """Why a request can never be answered, as far as that is known without asking the model: such a failure is no
        missing reply where the replay cache alone may answer. ``None``: it may be answered."""
        return None


def in_order(results: Iterable[tuple[int, Completion | LlmError]]) -> list[Completion | LlmError]:
    """What `Backend.each` gives, as `Backend.complete` gives it."""
    return [result for _, result in sorted(results, key=lambda pair: pair[0])]
