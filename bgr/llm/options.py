"""Options of the commands that ask a language model and keep its replies."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated

from bgr.utils.options import File, Metavar, Options, Positive, Range

TIMEOUT = 300.0
"""Seconds that a server may take to reply."""

Seconds = Annotated[float, Range(0.1, 86_400)]


@dataclass(frozen=True, kw_only=True)
class LlmOptions(Options):
    """A language model, and the file of its replies.

    Args:
        llm: smollm2, a .gguf file, a folder, or http://host/v1#model.
        batch: number of requests that are sent together.
        timeout: seconds that a server may take to reply; a call is given up after twice as long.
        replay: file in which replies are kept (default: beside what is written).
        replay_only: refuse calls that --replay cannot answer.
    """

    llm: Annotated[str, Metavar("SPEC")]
    batch: Positive = 16
    timeout: Seconds = TIMEOUT
    replay: File | None = None
    replay_only: bool = False

    def conflicts(self) -> Iterator[str]:
        yield from super().conflicts()
        if self.replay_only and self.replay is None:
            yield "--replay-only needs --replay FILE"
