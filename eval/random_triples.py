"""Triples of any number whose entities are met as unequally as in texts, with random vectors: for benches of size."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from bgr.triples.triple import Triple

WIDTH = 384
PASSAGE = 9
"""Triples of a passage: as many as GPT-3.5 finds in one of MuSiQue's."""

PREDICATES = ("is", "was born in", "is located in", "directed", "published in", "member of", "is part of", "plays for")


def random_triples(count: int, *, seed: int = 0) -> Iterator[Triple]:
    """A third of the ends are entities met once; of the others an entity's share falls by rank to the power 0.65. The
    commonest entity of 1,500,000 triples then has 13,640 of them, and a triple 168 neighbours on average."""
    rng = np.random.default_rng(seed)
    for start in range(0, count, 1 << 16):
        size = min(1 << 16, count - start)
        draws = (rng.random((size, 2)) ** (1 / 0.35) * count).astype(np.int64)
        alone = rng.random((size, 2)) < 1 / 3
        draws[alone] = count + 2 * start + np.flatnonzero(alone.ravel())
        predicates = rng.integers(0, len(PREDICATES), size)
        rows = zip(draws.tolist(), predicates.tolist(), strict=True)
        for number, ((a, b), p) in enumerate(rows, start):
            yield Triple(f"Entity of number {a}", PREDICATES[p], f"Entity of number {b}", number // PASSAGE)


class RandomVectors:
    """In an encoder's place: unit vectors in float16, ``[n, 384]``, whatever the texts."""

    def __init__(self, seed: int = 1) -> None:
        self.rng = np.random.default_rng(seed)

    def __call__(self, texts: Sequence[str]) -> np.ndarray:
        rows = self.rng.standard_normal((len(texts), WIDTH), dtype=np.float32)
        return (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float16)
