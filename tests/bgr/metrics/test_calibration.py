import random

import pytest

from bgr.metrics.calibration import expected_calibration_error


def slow_error(chances, happened, bins):
    total = 0.0
    for b in range(bins):
        inside = [b <= p * bins < b + 1 or (p == 1 and b == bins - 1) for p in chances]
        rows = [row for row, here in zip(zip(chances, happened, strict=True), inside, strict=True) if here]
        if rows:
            mean, share = (sum(row[side] for row in rows) / len(rows) for side in (0, 1))
            total += len(rows) / len(chances) * abs(mean - share)
    return total


def test_by_hand():
    assert expected_calibration_error([0.0, 1.0], [False, True]) == 0
    assert expected_calibration_error([1.0, 1.0], [False, False]) == 1
    # 0.8 for events that happen half of the time, 0.1 for events that never happen
    assert expected_calibration_error([0.8, 0.8, 0.1, 0.1], [1, 0, 0, 0]) == pytest.approx(0.5 * 0.3 + 0.5 * 0.1)
    assert expected_calibration_error([], []) == 0


@pytest.mark.parametrize("bins", [1, 4, 10])
def test_equal_to_a_loop(bins):
    rng = random.Random(bins)
    chances = [rng.random() for _ in range(200)] + [0.0, 1.0]
    happened = [rng.random() < p**2 for p in chances]
    slow = slow_error(chances, happened, bins)
    assert expected_calibration_error(chances, happened, bins=bins) == pytest.approx(slow)


@pytest.mark.parametrize(
    ("chances", "happened", "said"), [([0.5], [1, 0], "1 probabilities for 2"), ([1.5], [1], "0 to 1")]
)
def test_bad_input(chances, happened, said):
    with pytest.raises(ValueError, match=said):
        expected_calibration_error(chances, happened)
