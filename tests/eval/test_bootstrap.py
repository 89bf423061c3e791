"""Intervals and tests: against slow twins, known distributions and hand-counted cases."""

import math

import numpy as np
import pytest

from bgr.errors import BgrError
from eval.run.significance import CHUNK, bootstrap_difference, bootstrap_means, interval, mcnemar


def slow_means(scores, samples, seed):
    """One sample after the other, one question after the other."""
    rng, means = np.random.default_rng(seed), []
    for first in range(0, samples, CHUNK):
        for drawn in rng.integers(len(scores), size=(min(CHUNK, samples - first), len(scores))):
            means.append(sum(scores[question] for question in drawn) / len(scores))
    return np.array(means)


def test_equals_the_slow_twin():
    scores = np.random.default_rng(1).random((7, 3))
    samples = CHUNK + 3  # more than one chunk
    assert np.allclose(bootstrap_means(scores, samples=samples, seed=5), slow_means(scores, samples, 5), atol=1e-12)


def test_interval_of_a_share_is_that_of_the_binomial():
    scores = np.array([[1.0]] * 80 + [[0.0]] * 20)
    found = interval(scores[:, 0], bootstrap_means(scores, seed=0)[:, 0])
    spread = 1.96 * math.sqrt(0.8 * 0.2 / 100)
    assert found.mean == 0.8
    assert (found.low, found.high) == pytest.approx((0.8 - spread, 0.8 + spread), abs=0.015)


def test_seed_decides():
    scores = np.random.default_rng(0).random((20, 2))
    assert (bootstrap_means(scores, samples=50, seed=3) == bootstrap_means(scores, samples=50, seed=3)).all()
    assert (bootstrap_means(scores, samples=50, seed=3) != bootstrap_means(scores, samples=50, seed=4)).any()


def difference(first, second):
    scores = np.stack([first, second], axis=1)
    means = bootstrap_means(scores, samples=2000)
    return bootstrap_difference(first, second, means[:, 0] - means[:, 1])


def test_paired_differences():
    rng = np.random.default_rng(0)
    base = rng.random(200)
    same = difference(base, base)
    assert (same.interval.mean, same.interval.low, same.interval.high, same.p) == (0, 0, 0, 1)
    # a small gain on every question is sure because it is paired, though it drowns in the spread of the questions
    better = difference(base + 0.01, base)
    assert better.p == pytest.approx(2 / 2001)
    assert better.interval.low == pytest.approx(0.01)
    other = difference(rng.permutation(base), base)
    assert other.interval.low < 0 < other.interval.high
    assert other.p > 0.05


def test_mcnemar_by_hand():
    def scores(both, only_first, only_second):
        return (
            np.array([1] * both + [1] * only_first + [0] * only_second),
            np.array([1] * both + [0] * only_first + [1] * only_second),
        )

    assert mcnemar(*scores(10, 0, 0)) == 1
    assert mcnemar(*scores(10, 5, 0)) == pytest.approx(2 / 2**5)
    assert mcnemar(*scores(3, 5, 1)) == pytest.approx(2 * (1 + 6) / 2**6)
    assert mcnemar(*scores(3, 2, 2)) == 1


@pytest.mark.parametrize(("questions", "samples"), [(0, 10), (5, 0)])
def test_nothing_to_draw(questions, samples):
    with pytest.raises(BgrError, match=f"{questions} questions and {samples} samples"):
        bootstrap_means(np.zeros((questions, 1)), samples=samples)
