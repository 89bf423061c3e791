"""The best of a row of scores without sorting all of it."""

from __future__ import annotations

import numpy as np

from bgr.search.interface import Hits


def best(scores: np.ndarray, k: int) -> Hits:
    """The `k` highest of ``float32 [n]`` (all if there are fewer), best first, equal scores by place."""
    k = max(min(k, len(scores)), 0)
    if 0 < k < len(scores):
        limit = np.partition(scores, len(scores) - k)[len(scores) - k]  # the k-th best score
        above = np.flatnonzero(scores > limit)
        places = np.concatenate([above, np.flatnonzero(scores == limit)[: k - len(above)]])
    else:
        places = np.arange(k)
    return ordered(places, scores[places])


def ordered(places: np.ndarray, scores: np.ndarray) -> Hits:
    """Places and their scores, ``[n]`` each, best first, equal scores by place."""
    order = np.lexsort((places, -scores))
    return Hits(places[order].astype(np.int64), scores[order].astype(np.float32))
