"""passageLink: from facts to passages, by way of the passages and of the triples (equations 8 and 10)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from bgr.gear.steps import Fact
from bgr.search.fusion import rrf
from bgr.search.interface import Hits, Search
from bgr.triples.index import TripleIndex


class Link(NamedTuple):
    """What a fact leads to: the nearest triple (``None`` in an empty index), and passages, best first."""

    triple: int | None
    passages: list[int]


def passage_links(
    facts: Sequence[Fact], base: Search, triples: Search, index: TripleIndex, *, most: int, rrf_k: int
) -> list[Link]:
    """For each fact the `most` best passages, by reciprocal rank over its search of passages and that of triples.

    A passage's rank by triples is that of its best triple, among passages.
    """
    if not facts:
        return []
    texts = [fact.text for fact in facts]
    found = zip(base.search(texts, most), triples.search(texts, most), strict=True)
    return [_link(passages, near, index, most, rrf_k) for passages, near in found]


def _link(passages: Hits, near: Hits, index: TripleIndex, most: int, rrf_k: int) -> Link:
    through = dict.fromkeys(np.asarray(index.places)[near.places].tolist())
    fused = rrf([passages.places.tolist(), list(through)], k=rrf_k)
    return Link(int(near.places[0]) if len(near.places) else None, fused.places[:most].tolist())
