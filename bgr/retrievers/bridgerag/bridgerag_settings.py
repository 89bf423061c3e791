"""All numbers of BridgeRAG; the defaults are the paper's (arXiv 2604.03384)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Condition = Literal["svo", "plain", "full"]
"""The order of the pool: the paper's conditions A (SVO cosine alone), B (a judge that sees no bridge, ``s(q, c)``) and
C (a judge that sees it, ``s(q, b, c)``)."""

CONDITIONS: tuple[Condition, ...] = ("svo", "plain", "full")


@dataclass(frozen=True)
class BridgeSettings:
    """Settings of the retriever.

    Args:
        first: passages of the first hop's search; the best of them is the bridge.
        queries: subject–verb–object queries for the second hop, at most.
        query_passages: of each such query's search.
        kept: passages that stay of all these searches, by best cosine.
        entity_passages: of the search for each of the two entities.
        pool: passages that stay of all searches, by best cosine; all of them are ranked.
        alpha: weight of the SVO cosine's percentile rank beside the judge's (0.15 on HotpotQA).
        top: how many of the ranked pool are the result in the paper's sense; marked in trace and graph.
        condition: what orders the pool.
        most: highest score that the judge may give, lowest 0. The paper names no scale.
        max_tokens: longest reply of any step.

    Raises:
        ValueError: a count below 1, an `alpha` that is no share, or an unknown condition.
    """

    first: int = 5
    queries: int = 3
    query_passages: int = 10
    kept: int = 15
    entity_passages: int = 5
    pool: int = 20
    alpha: float = 0.10
    top: int = 5
    condition: Condition = "full"
    most: int = 10
    max_tokens: int = 256

    def __post_init__(self) -> None:
        for name in ("first", "queries", "query_passages", "kept", "entity_passages", "pool", "top", "most"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} is {getattr(self, name)}; it must be 1 or more")
        if self.max_tokens < 1 or not 0 <= self.alpha <= 1:
            raise ValueError(f"max_tokens {self.max_tokens}, alpha {self.alpha}; allowed: 1 or more, 0 … 1")
        if self.condition not in CONDITIONS:
            raise ValueError(f"condition is {self.condition!r}, allowed: {', '.join(CONDITIONS)}")


PAPER = BridgeSettings()
