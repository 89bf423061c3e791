"""Agreement of markers, compared with numbers calculated by hand."""

from __future__ import annotations

import pytest

from bgr.data.reasongraphqa.checks.marking import agreement, cohen_kappa, fleiss_kappa


def test_fleiss_by_hand():
    # pairs that agree: 3/3, 1/3, 1/3, 3/3, so P = 2/3; marks: 7 of 12 are 1, so P_e = (49 + 25) / 144
    marks = [(1, 1, 1), (1, 1, 0), (1, 0, 1), (0, 0, 0)]
    chance = 74 / 144
    assert fleiss_kappa(marks) == pytest.approx((2 / 3 - chance) / (1 - chance))
    assert fleiss_kappa(marks) == pytest.approx(0.3142857, abs=1e-6)


def test_fleiss_at_its_ends():
    assert fleiss_kappa([(1, 1, 1), (0, 0, 0)]) == 1.0
    # two markers who never agree: P = 0, P_e = 1/2
    assert fleiss_kappa([(1, 0), (0, 1)]) == -1.0
    # more than two kinds of mark: P = (1 + 0) / 2, P_e = (3 + 1 + 1 + 1 over 6)
    assert fleiss_kappa([(2, 2, 2), (0, 1, 3)]) == pytest.approx((0.5 - 12 / 36) / (1 - 12 / 36))


@pytest.mark.parametrize("marks", [[], [(1,)], [(1, 0), (1, 0, 1)], [(1, 1), (1, 1)]])
def test_fleiss_is_undefined(marks):
    with pytest.raises(ValueError, match="kappa"):
        fleiss_kappa(marks)


def test_cohen_by_hand():
    # 20 + 15 of 50 alike: 0.7; chance 0.5 * 0.6 + 0.5 * 0.4 = 0.5
    marks = [(1, 1)] * 20 + [(1, 0)] * 5 + [(0, 1)] * 10 + [(0, 0)] * 15
    assert cohen_kappa(marks) == pytest.approx(0.4)
    found = agreement("fluency", marks)
    assert (found.kind, found.markers, found.facts) == ("cohen", 2, 50)
    assert (found.mean, found.equal, found.kappa) == (pytest.approx(0.55), 0.7, pytest.approx(0.4))
    assert found.text() == "fluency       mean 0.550, equal 70.0%, kappa (Cohen) 0.400"


def test_more_than_two_markers():
    found = agreement("fluency", [(1, 1, 1), (1, 1, 0), (1, 0, 1), (0, 0, 0)])
    assert (found.kind, found.equal, found.mean) == ("fleiss", 0.5, pytest.approx(7 / 12))
    assert found.kappa == pytest.approx(0.3142857, abs=1e-6)


def test_all_marks_the_same_leave_kappa_open():
    found = agreement("fluency", [(1, 1), (1, 1)])
    assert (found.equal, found.kappa) == (1.0, None)
    assert "undefined" in found.text()


def test_one_marker_has_only_a_mean():
    found = agreement("fluency", [(1,), (0,)])
    assert (found.mean, found.equal, found.kappa, found.kind) == (0.5, None, None, None)
    assert found.text() == "fluency       mean 0.500"
