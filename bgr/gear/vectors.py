"""Rows of a large matrix of half-precision vectors, ready to be multiplied."""

from __future__ import annotations

import numpy as np
import torch

CHUNK = 1024
"""Rows that are multiplied at a time: they stay in the processor's cache."""


def take_rows(vectors: np.ndarray, numbers: np.ndarray) -> np.ndarray:
    """Some rows as float32; `vectors` may be memory-mapped. *Shape:* ``[n, d]``, ``[m]`` -> ``[m, d]``."""
    rows = np.asarray(np.take(vectors, numbers, axis=0))
    return torch.from_numpy(rows).float().numpy()  # converts in hardware, several times as fast as NumPy


def products(vectors: np.ndarray, numbers: np.ndarray, query: np.ndarray) -> np.ndarray:
    """Inner products of some rows with one vector. *Shape:* ``[n, d]``, ``[m]``, ``[d]`` -> ``float32 [m]``."""
    values = np.empty(len(numbers), dtype=np.float32)
    most = min(CHUNK, len(numbers))
    rows = np.empty((most, vectors.shape[1]), dtype=vectors.dtype)  # both are filled again and again:
    single = torch.empty(rows.shape)  # fresh memory would take longer than the work
    for start in range(0, len(numbers), CHUNK):
        part = numbers[start : start + CHUNK]
        np.take(vectors, part, axis=0, out=rows[: len(part)], mode="clip")  # "raise" would copy once more
        single.copy_(torch.from_numpy(rows))
        values[start : start + CHUNK] = single.numpy()[: len(part)] @ query
    return values
