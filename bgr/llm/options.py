"""Options of the commands that ask a language model and keep its replies."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated, Any

from bgr.utils.options import File, Fraction, Metavar, Natural, Options, Positive, Range

TIMEOUT = 300.0
"""Seconds that a server may take to reply."""
PATIENCE = 300.0
"""Seconds over which an overloaded server is asked again."""
CONCURRENCY = 32
"""Calls that a server answers side by side."""
MAX_FAILURE_SHARE = 0.02
"""Share of questions without a reply to one of their calls at which a run stops."""

Seconds = Annotated[float, Range(0.1, 86_400)]


@dataclass(frozen=True, kw_only=True)
class ServerOptions(Options):
    """Calls of a server.

    Args:
        concurrency: calls that a server answers side by side (default: 32); questions are independent of one another.
        timeout: seconds that a server may take to reply (default: 300); a call that takes longer twice has failed.
        patience: seconds over which a server that is overloaded or restarts is asked again (default: 300).
        max_failure_share: stop when the calls of more than this share of the questions have failed.
        context_tokens: context length of the server, to which prompts are truncated (default: as the server says).
        reasoning_tokens: tokens for the reasoning of a model, in addition to the limit of each reply.
        extra_body: JSON object with further fields of each request to a server.
    """

    GROUP = "language model on a server"

    concurrency: Positive | None = None
    timeout: Seconds | None = None
    patience: Annotated[float, Range(0, 86_400)] | None = None
    max_failure_share: Fraction = MAX_FAILURE_SHARE
    context_tokens: Annotated[int, Range(64)] | None = None
    reasoning_tokens: Natural | None = None
    extra_body: Annotated[str, Metavar("JSON")] | None = None

    def conflicts(self) -> Iterator[str]:
        yield from super().conflicts()
        try:
            valid = self.extra_body is None or isinstance(json.loads(self.extra_body), dict)
        except (ValueError, RecursionError):
            valid = False
        if not valid:
            yield f"--extra-body: {self.extra_body!r}: allowed: a JSON object"

    @property
    def server(self) -> dict[str, Any]:
        """The arguments of `bgr.llm.backends.openai_backend.OpenAIBackend` that are given."""
        names = ("concurrency", "timeout", "patience", "context_tokens", "reasoning_tokens")
        found = {name: getattr(self, name) for name in names if getattr(self, name) is not None}
        return found | ({"extra_body": json.loads(self.extra_body)} if self.extra_body is not None else {})


@dataclass(frozen=True, kw_only=True)
class LlmOptions(ServerOptions):
    """A language model, and the file of its replies.

    Args:
        llm: smollm2, a .gguf file, a folder, or http://host/v1#model.
        batch: number of requests that are sent to a local model together.
        replay: file in which replies are kept (default: beside what is written).
        replay_only: refuse calls that --replay cannot answer.
    """

    llm: Annotated[str, Metavar("SPEC")]
    batch: Positive = 16
    replay: File | None = None
    replay_only: bool = False

    def conflicts(self) -> Iterator[str]:
        yield from super().conflicts()
        if self.replay_only and self.replay is None:
            yield "--replay-only needs --replay FILE"
