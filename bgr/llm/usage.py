"""Calls, tokens, seconds and what they cost."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields
from typing import Any


@dataclass(frozen=True)
class Usage:
    """What language-model calls took; add them up with ``+``.

    Args:
        calls: that a model answered; those answered from the replay cache are `cached` instead.
        cached: calls answered from the replay cache.
        failed: steps whose reply could not be used, after they were asked again.
        tokens_in, tokens_out: read and written in all calls, cached ones too: what the method needs, however often it
            is run.
        seconds: in calls, cached ones none.
        seconds_saved: that replies from the cache took when they were made.
        uncounted: replies without a count of their tokens: where there are some, all tokens are not known.
    """

    calls: int = 0
    cached: int = 0
    failed: int = 0
    tokens_in: int = 0
    tokens_out: int = 0
    seconds: float = 0.0
    seconds_saved: float = 0.0
    uncounted: int = 0

    def __add__(self, other: Usage) -> Usage:
        return Usage(*(getattr(self, f.name) + getattr(other, f.name) for f in fields(self)))

    def to_json(self) -> dict[str, Any]:
        """All fields by name."""
        return {f.name: getattr(self, f.name) for f in fields(self)}


@dataclass(frozen=True)
class Price:
    """What a model costs, in any currency, for a million tokens read and a million written."""

    per_million_in: float = 0.0
    per_million_out: float = 0.0

    def cost(self, usage: Usage) -> float:
        """Of all its tokens, those of cached calls too: what the run would cost without a cache; NaN where not all are
        counted."""
        if usage.uncounted:
            return math.nan
        return (usage.tokens_in * self.per_million_in + usage.tokens_out * self.per_million_out) / 1e6
