"""A limit on what a run may take, and a stop that loses nothing.

Calls, tokens, seconds and what they cost.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, fields
from typing import Any

from bgr.errors import BgrError


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


class BudgetError(BgrError):
    """A budget that the next calls would exceed."""


@dataclass(frozen=True)
class Budget:
    """What one process may take in all, calls answered from the replay cache included: one that is stopped and started
    again, and asks all the same again, stops at the same place and spends nothing twice. What finished before and is
    not asked for again does not count.

    The number of calls is never exceeded. Tokens and cost are known only afterwards: they may be exceeded by the calls
    that are under way when the limit is reached.

    Args:
        calls, tokens, cost: most of each (tokens read and written together); ``None`` for no limit.
        price: of the model; needed for `cost`.
    """

    calls: int | None = None
    tokens: int | None = None
    cost: float | None = None
    price: Price | None = None

    def __post_init__(self) -> None:
        for name in ("calls", "tokens", "cost"):
            value = getattr(self, name)
            if value is not None and not (value >= 0 and math.isfinite(value)):
                raise BgrError(f"budget: {name} is {value}, allowed: a number from 0")
        if self.cost is not None and self.price is None:
            raise BgrError("budget: a limit on the cost needs the price of the model's tokens")

    def check(self, used: Usage, coming: int) -> None:
        """Allow `coming` calls after what was used.

        Raises:
            BudgetError: they would be too many, or the tokens or the cost are used up, or not known; says which.
        """
        calls, tokens = used.calls + used.cached, used.tokens_in + used.tokens_out
        if self.calls is not None and calls + coming > self.calls:
            raise _used_up(f"{calls:,} of {self.calls:,} calls are used, and the next batch has {coming:,}")
        if used.uncounted and not (self.tokens is self.cost is None):
            raise BudgetError(
                f"budget: {used.uncounted:,} replies came without a count of their tokens, so that no limit on tokens "
                "or cost can be kept; allowed: one on calls"
            )
        if self.tokens is not None and tokens >= self.tokens:
            raise _used_up(f"{tokens:,} of {self.tokens:,} tokens are used")
        if self.cost is not None and self.price is not None and (cost := self.price.cost(used)) >= self.cost:
            raise _used_up(f"{cost:.4f} of {self.cost:.4f} is spent")


def _used_up(what: str) -> BudgetError:
    return BudgetError(
        f"budget: {what}; run again with a greater budget to go on: replies in the replay cache are not asked for again"
    )
