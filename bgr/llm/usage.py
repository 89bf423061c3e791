"""Usage of language models (calls, tokens, seconds, cost) and budgets that limit it."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, fields
from typing import Any

from bgr.errors import BgrError


@dataclass(frozen=True)
class Usage:
    """Usage of language-model calls; add instances with ``+``.

    Args:
        calls: calls answered by a model, without those from the replay cache.
        cached: calls answered from the replay cache.
        failed: steps without a usable reply after one retry.
        unanswered: those of them whose call was not answered after all tries.
        tokens_in, tokens_out: tokens of prompts and replies in all calls, including cached ones.
        seconds: time spent in calls that were not cached.
        seconds_saved: time that the cached replies took originally.
        uncounted: replies without token counts.
        retried: further tries of calls that failed; the tokens of their replies count.
        cut: replies that ended at their limit of tokens.
        clipped: replies to prompts that were truncated to the model's context.
    """

    calls: int = 0
    cached: int = 0
    failed: int = 0
    tokens_in: int = 0
    tokens_out: int = 0
    seconds: float = 0.0
    seconds_saved: float = 0.0
    uncounted: int = 0
    unanswered: int = 0
    retried: int = 0
    cut: int = 0
    clipped: int = 0

    def __add__(self, other: Usage) -> Usage:
        return Usage(*(getattr(self, f.name) + getattr(other, f.name) for f in fields(self)))

    def to_json(self) -> dict[str, Any]:
        """All fields by name."""
        return asdict(self)


@dataclass(frozen=True)
class Price:
    """Price of a model per million tokens, in any currency."""

    per_million_in: float = 0.0
    per_million_out: float = 0.0

    def cost(self, usage: Usage) -> float:
        """The cost of all tokens, including those of cached calls; NaN if not all tokens are counted."""
        if usage.uncounted:
            return math.nan
        return (usage.tokens_in * self.per_million_in + usage.tokens_out * self.per_million_out) / 1e6


class BudgetError(BgrError):
    """The next calls would exceed the budget."""


@dataclass(frozen=True)
class Budget:
    """Limits on the usage of one process, including calls answered from the replay cache.

    A run that is started again with the same requests therefore stops at the same point and pays for nothing twice.
    Calls in progress may exceed the limits on tokens and cost, which are only known after a call.

    Args:
        calls, tokens, cost: maximum of each (tokens of prompts and replies together); ``None`` for no limit.
        price: price of the model; required for `cost`.
    """

    calls: int | None = None
    tokens: int | None = None
    cost: float | None = None
    price: Price | None = None

    def __post_init__(self) -> None:
        for name in ("calls", "tokens", "cost"):
            value = getattr(self, name)
            if value is not None and not (value >= 0 and math.isfinite(value)):
                raise BgrError(f"budget: {name} is {value}, allowed: a finite number from 0")
        if self.cost is not None and self.price is None:
            raise BgrError("budget: a limit on the cost requires the price of the model's tokens")

    def check(self, used: Usage, coming: int) -> None:
        """Check that `coming` more calls are within the budget.

        Raises:
            BudgetError: there would be too many calls, or tokens or cost are exhausted or unknown.
        """
        calls, tokens = used.calls + used.cached, used.tokens_in + used.tokens_out
        if self.calls is not None and calls + coming > self.calls:
            raise _used_up(f"{calls:,} of {self.calls:,} calls are used, and the next batch has {coming:,}")
        if used.uncounted and not (self.tokens is self.cost is None):
            raise BudgetError(
                f"budget: {used.uncounted:,} replies have no token counts, so limits on tokens or cost cannot be "
                "enforced; allowed: a limit on calls"
            )
        if self.tokens is not None and tokens >= self.tokens:
            raise _used_up(f"{tokens:,} of {self.tokens:,} tokens are used")
        if self.cost is not None and self.price is not None and (cost := self.price.cost(used)) >= self.cost:
            raise _used_up(f"{cost:.4f} of {self.cost:.4f} is spent")


def _used_up(what: str) -> BudgetError:
    return BudgetError(
        f"budget: {what}; run again with a larger budget to resume; replies in the replay cache are not requested again"
    )
