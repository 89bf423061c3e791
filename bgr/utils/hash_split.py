"""Splits by id alone: a question stays in its split whatever else a file holds, and in whatever order."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

SHARES = (70, 10, 20)
"""Of train, dev and test."""


def hash_place(id: str, shares: Sequence[int] = SHARES) -> int:
    """Which of the splits an id falls into, numbered from 0.

    The first 8 bytes of the id's SHA-256, as a fraction of 2⁶⁴, are laid on the shares, which need not sum up to 100.

    Raises:
        ValueError: a share below 0, or none above it.
    """
    total = sum(shares)
    if min(shares, default=0) < 0 or total <= 0:
        raise ValueError(f"the shares are {list(shares)}, allowed: integers from 0, one of them above 0")
    raw = hashlib.sha256(id.encode(errors="surrogatepass")).digest()[:8]
    point = int.from_bytes(raw, "big") * total >> 64
    place = 0
    while point >= shares[place]:
        point -= shares[place]
        place += 1
    return place
