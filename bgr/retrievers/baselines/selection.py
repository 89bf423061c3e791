"""Rules, chosen on dev, for the paths of a baseline that become its graph."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from bgr.errors import BgrError
from bgr.retrievers.base import Query
from bgr.retrievers.baselines.beam import FoundPath


@dataclass(frozen=True)
class TopFacts:
    """The k best, of a single-hop retriever, whose paths are single facts.

    Args:
        k: None takes `Query.gold_count`, the paper's protocol (section 5.1).

    Raises:
        BgrError: k is negative, or is None and a query does not say how many gold facts there are.
    """

    k: int | None = None

    def __post_init__(self) -> None:
        if self.k is not None and (type(self.k) is not int or self.k < 0):
            raise BgrError(f"k is {self.k!r}; it must be 0 or more")

    def __call__(self, paths: Sequence[FoundPath], query: Query) -> list[FoundPath]:
        k = query.gold_count if self.k is None else self.k
        if k is None:
            raise BgrError(f"question {query.question!r}: no number of gold facts is given; choose a fixed k")
        return list(paths[:k])


@dataclass(frozen=True)
class NearBest:
    """Paths of which the log-probability is at most `margin` below the best one's; their scores become probabilities.

    With 0 it is the best path alone, as in the papers; chains that a question needs side by side come with more.

    Raises:
        BgrError: the margin is negative or no finite number.
    """

    margin: float

    def __post_init__(self) -> None:
        if type(self.margin) not in (int, float) or not 0 <= self.margin < math.inf:
            raise BgrError(f"margin is {self.margin!r}; it must be a number of 0 or more")

    def __call__(self, paths: Sequence[FoundPath], query: Query) -> list[FoundPath]:
        bound = max((path.score for path in paths), default=0.0) - self.margin
        return [replace(path, score=math.exp(path.score)) for path in paths if path.score >= bound]


@dataclass(frozen=True)
class AllPaths:
    """Every path, its score as a probability: of a baseline that says by itself when there is no more."""

    def __call__(self, paths: Sequence[FoundPath], query: Query) -> list[FoundPath]:
        return [replace(path, score=math.exp(path.score)) for path in paths]


Keep = TopFacts | NearBest | AllPaths
