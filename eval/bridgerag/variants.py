"""What stands before BridgeRAG's judge in each experiment; all of them judge one pool."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace

from bgr.bridgerag.agent import BridgeRag
from bgr.bridgerag.judge import Case
from bgr.bridgerag.pool import Pool

VARIANTS: Mapping[str, str] = {
    "plain": "B: no bridge",
    "full": "C: the bridge",
    "svo-text": "C, the second-hop queries for the bridge",
    "lowest": "C, the pool's passage of lowest SVO cosine for the bridge",
    "negative": "C, the best-ranked wrong passage for the bridge",
}
"""Judges by name. The entities are those of the real bridge in all but the first. Condition A needs no judge."""


def cases_of(method: BridgeRag, pool: Pool, gold: Collection[int]) -> dict[str, Case]:
    """The cases of one pool by variant; one whose passage does not exist is left out, and all of an empty pool."""
    if pool.bridge is None or not pool.places:
        return {}
    full = method.case(pool)
    texts = {"svo-text": "\n".join(pool.queries)}
    for name, place in (("lowest", lowest(pool)), ("negative", negative(pool, gold))):
        if place is not None:
            texts[name] = method.corpus[place].whole
    others = {name: replace(full, bridge=text) for name, text in texts.items()}
    return {"plain": method.case(pool, bridge=False), "full": full, **others}


def lowest(pool: Pool) -> int | None:
    """The candidate, other than the bridge, whose SVO cosine is lowest; one without a cosine counts as lower."""
    others = [
        (-2.0 if svo is None else svo, place)
        for place, svo in zip(pool.places, pool.svo, strict=True)
        if place != pool.bridge
    ]
    return min(others)[1] if others else None


def negative(pool: Pool, gold: Collection[int]) -> int | None:
    """The passage that is neither gold nor the bridge and ranks best: in the first hop's list, then in the pool."""
    first = [int(place) for place, _ in pool.trace[0]["found"]]
    return next((place for place in (*first, *pool.places) if place != pool.bridge and place not in gold), None)
