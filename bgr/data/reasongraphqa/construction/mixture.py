"""The kinds of distractors and their shares: three kinds of the paper (section 3.1.2) and two more (`interference`)."""

from __future__ import annotations

import math
from dataclasses import dataclass

from bgr.errors import DataError

SIMILAR, SAME_HEAD, RANDOM, RIVAL, OTHER = "similar", "same head", "random", "rival", "other question"
KINDS = (SIMILAR, SAME_HEAD, RANDOM, RIVAL, OTHER)
PAPER_KINDS = KINDS[:3]
MIN_DISTRACTORS = 3


@dataclass(frozen=True)
class Mixture:
    """The share of each kind among the distractors of a question; their sum is 1.

    A share of 0 means none, except for (c), which replaces the others if there are too few of them.

    Raises:
        DataError: a share is negative or not a number, or the sum is not 1.
    """

    similar: float = 1 / 3
    same_head: float = 1 / 3
    random: float = 1 / 3
    rival: float = 0.0
    other: float = 0.0

    def __post_init__(self) -> None:
        shares = tuple(self.by_kind.values())
        # written so that nan fails too
        if not (min(shares) >= 0 and abs(sum(shares) - 1) <= 1e-6):
            text = " ".join(f"{share:g}" for share in shares)
            raise DataError(f"mixture {text}, allowed: shares of 0 or more that add up to 1")

    @property
    def by_kind(self) -> dict[str, float]:
        """The shares of the paper's kinds, and of the others that there are."""
        shares = zip(KINDS, (self.similar, self.same_head, self.random, self.rival, self.other), strict=True)
        return {kind: share for kind, share in shares if share or kind in PAPER_KINDS}


THIRDS = Mixture()
HARD = Mixture(0.45, 0.45, 0.1)
"""More distractors that look like evidence, fewer random ones."""

_TIES = (SAME_HEAD, SIMILAR, RANDOM, RIVAL, OTHER)


def shares(gold: int, candidates: int, mixture: Mixture = THIRDS) -> dict[str, int]:
    """The number of distractors of each kind (at least three in all), rounded to the right sum.

    The remainder goes to the kinds that lost most by rounding; among equals first to (b), then to (a).
    """
    count = max(candidates - gold, MIN_DISTRACTORS)
    exact = {kind: count * share for kind, share in mixture.by_kind.items()}
    found = {kind: math.floor(number) for kind, number in exact.items()}
    lost = {kind: round(exact[kind] - found[kind], 6) for kind in sorted(found, key=_TIES.index)}
    for kind in sorted(lost, key=lambda kind: -lost[kind])[: count - sum(found.values())]:
        found[kind] += 1
    return found
