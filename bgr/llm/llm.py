"""The language model as every method uses it: ask for text or for objects, many at once, and nothing breaks."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from bgr.llm.interface import Request
from bgr.llm.usage import Usage


@dataclass(frozen=True)
class Reply:
    """What came of one request.

    Args:
        value: the text; the object, where the request has a schema and the reply fits it; ``None`` where it failed.
        text: as the model wrote it, the last time it was asked.
        failure: one line, why there is no value.
        usage: of all calls of this request.
    """

    value: Any
    text: str
    failure: str | None
    usage: Usage


class Asks(ABC):
    """Anything that answers requests: `Llm`, or a script in a test."""

    @abstractmethod
    def ask(self, requests: Sequence[Request]) -> list[Reply]:
        """One reply for each request, in order. A reply that cannot be used is a failure, never an exception; only a
        budget that is used up, or a backend that cannot be reached at all, ends the run (`BgrError`)."""
