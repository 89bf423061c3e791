"""Nearest neighbours: those of all pairs, whatever the blocks."""

from __future__ import annotations

import numpy as np
import pytest

from bgr.collection import vectors as exact
from bgr.collection.vectors import nearest


def unit(rng, count):
    rows = rng.normal(size=(count, 8)).astype(np.float32)
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


@pytest.mark.parametrize("questions", [0, 1, 19, 20, 39, 40, 41, 85])
@pytest.mark.parametrize("block", [20, 4096])
def test_equal_to_sorting_all_products(monkeypatch, questions, block):
    monkeypatch.setattr(exact, "BLOCK", block)
    rng = np.random.default_rng(questions)
    queries, vectors = unit(rng, questions), unit(rng, 60)
    slow = np.argsort(-(queries @ vectors.T), axis=1, kind="stable")
    assert np.array_equal(nearest(queries, vectors, 7), slow[:, :7])
    assert nearest(queries, vectors, 100).shape == (questions, 60)
