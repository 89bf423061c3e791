"""R@k: how much of what is needed stands among the first k of a ranked list (GEAR, section 6.1)."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Sequence

import numpy as np


def recall_at(ranked: Sequence[Hashable], gold: Collection[Hashable], k: int, *, missing: int = 0) -> float:
    """``|gold ∩ first k| / (|gold| + missing)``, 0 … 1, higher is better.

    Args:
        ranked: best first, each once; shorter than `k` counts as it is.
        gold: what is needed, each once.
        k: how many of the list count.
        missing: needed things that cannot be found at all; they count as not found.

    Returns:
        NaN where nothing is needed: leave such questions out of a mean.
    """
    return float(recalls_at(ranked, gold, (k,), missing=missing)[0])


def recalls_at(
    ranked: Sequence[Hashable], gold: Collection[Hashable], ks: Sequence[int], *, missing: int = 0
) -> np.ndarray:
    """`recall_at` for several k at once: ``float64 [len(ks)]``."""
    needed = set(gold)
    total = len(needed) + missing
    if not total:
        return np.full(len(ks), np.nan)
    hits = np.cumsum([0, *(one in needed for one in ranked)])  # hits among the first 0, 1, 2, …
    return hits[np.minimum(ks, len(ranked))] / total
