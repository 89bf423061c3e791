import math
import random

import pytest

from bgr.metrics.calibration import expected_calibration_error
from bgr.metrics.refusal import (
    RefusalScores,
    completeness_auc,
    completeness_calibration,
    found_at_false_alarms,
    refusal_scores,
)


def slow_auc(answerable, unanswerable):
    pairs = [(a, u) for a in answerable for u in unanswerable]
    return sum(1.0 if a > u else 0.5 if a == u else 0.0 for a, u in pairs) / len(pairs)


def slow_found(answerable, unanswerable, rate):
    """The greatest threshold among the answerable questions' values that few enough of them are below."""
    allowed = [t for t in answerable if sum(a < t for a in answerable) <= rate * len(answerable)]
    return sum(u < max(allowed) for u in unanswerable) / len(unanswerable)


def test_by_hand():
    assert completeness_auc([0.9, 0.8], [0.1, 0.2]) == 1
    assert completeness_auc([0.1], [0.9, 0.8]) == 0
    assert completeness_auc([0.5, 0.5], [0.5]) == 0.5
    assert completeness_auc([0.5, 0.9], [0.5, 0.1]) == (0.5 + 1 + 1 + 1) / 4
    twenty = [n / 20 for n in range(20)]  # one of twenty may be below the threshold, which is the second value
    assert found_at_false_alarms(twenty, [0.0, 0.04, 0.05, 0.9]) == 0.5
    assert found_at_false_alarms(twenty[:19], [-1.0, 0.0]) == 0.5  # one of nineteen is more than 5 %
    assert found_at_false_alarms([1, 1, 1], [1, 1]) == 0


@pytest.mark.parametrize("digits", [1, 6])
@pytest.mark.parametrize("counts", [(1, 1), (7, 40), (60, 9)])
def test_equal_to_a_loop(counts, digits):
    rng = random.Random(f"{counts}{digits}")
    right = [round(rng.random() ** 0.5, digits) for _ in range(counts[0])]
    wrong = [round(rng.random(), digits) for _ in range(counts[1])]
    assert completeness_auc(right, wrong) == pytest.approx(slow_auc(right, wrong))
    for rate in (0.0, 0.05, 0.3):
        assert found_at_false_alarms(right, wrong, rate=rate) == pytest.approx(slow_found(right, wrong, rate))
    happened = [True] * len(right) + [False] * len(wrong)
    assert completeness_calibration(right, wrong) == expected_calibration_error(right + wrong, happened)


def test_refusals():
    assert refusal_scores([True, False, False], [True, True, False]) == RefusalScores(2 / 3, 2 / 3)
    assert refusal_scores([True], [False]) == RefusalScores(0, 0)
    assert refusal_scores([False], [True]) == RefusalScores(1, 1)


def test_empty_input():
    assert math.isnan(completeness_auc([], [0.5]))
    assert math.isnan(completeness_auc([0.5], []))
    assert math.isnan(found_at_false_alarms([], [0.5]))
    assert math.isnan(found_at_false_alarms([0.5], []))
    assert refusal_scores([False], []) == refusal_scores([], []) == RefusalScores(1, 1)
    assert refusal_scores([], [False]) == refusal_scores([True], []) == RefusalScores(0, 0)
    assert completeness_calibration([], []) == 0


def test_bad_input():
    with pytest.raises(ValueError, match=r"a rate of 1\.5 false alarms"):
        found_at_false_alarms([0.5], [0.5], rate=1.5)
    with pytest.raises(ValueError, match="0 to 1"):
        completeness_calibration([1.5], [])
