"""R@k against values computed by hand and a slow implementation."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bgr.metrics.evidence_set import recalls_at


def test_by_hand():
    ranked, gold = ["d", "a", "x", "b", "y"], ["a", "b", "c"]
    assert recalls_at(ranked, gold, (0, 1, 2, 4, 5, 9)) == pytest.approx([0, 0, 1 / 3, 2 / 3, 2 / 3, 2 / 3])
    assert recalls_at(ranked, ["a"], [2], missing=1) == 0.5
    assert recalls_at([], gold, [5]) == 0.0
    assert recalls_at(ranked, [], [5], missing=2) == 0.0
    assert math.isnan(recalls_at(ranked, [], [5])[0])


def slow(ranked, gold, k, missing):
    total = len(set(gold)) + missing
    return sum(1 for one in ranked[:k] if one in gold) / total if total else math.nan


@given(
    st.lists(st.integers(0, 20), unique=True),
    st.lists(st.integers(0, 20), unique=True),
    st.lists(st.integers(0, 25), min_size=1),
    st.integers(0, 3),
)
def test_equals_the_slow_twin(ranked, gold, ks, missing):
    found = recalls_at(ranked, gold, ks, missing=missing)
    assert np.array_equal(found, [slow(ranked, gold, k, missing) for k in ks], equal_nan=True)
