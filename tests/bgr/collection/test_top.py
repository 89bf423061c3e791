"""The best of a row against sorting all of it."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from bgr.collection.search import best


@given(st.lists(st.sampled_from([-1.5, 0.0, 0.25, 1.0, 3.0]), max_size=40), st.integers(-2, 50))
def test_equal_to_sorting_all(values, k):
    scores = np.array(values, dtype=np.float32)
    order = np.argsort(-scores, kind="stable")[: max(k, 0)]
    hits = best(scores, k)
    assert hits.indices.tolist() == order.tolist()
    assert np.array_equal(hits.scores, scores[order])
    assert hits.indices.dtype == np.int64
