"""An encoder without a model: unit vectors seeded by the hash of a text, the same in every process."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

import numpy as np
import pytest


class HashEncoder:
    def __init__(self, width: int = 12) -> None:
        self.width = width
        self.calls: list[list[str]] = []

    def __call__(self, texts: Sequence[str]) -> np.ndarray:
        self.calls.append(list(texts))
        seeds = [int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big") for text in texts]
        rows = np.array([np.random.default_rng(seed).normal(size=self.width) for seed in seeds]).reshape(-1, self.width)
        return (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)


@pytest.fixture
def encoder() -> HashEncoder:
    return HashEncoder()
