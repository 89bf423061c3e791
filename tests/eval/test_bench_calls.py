"""`bgr bench calls`: every question is answered, the calls are held in flight, and the times add up."""

import pytest

from eval.bench.calls import bench_calls, covered, held, least_time, steady_state, time_in_order
from eval.bench.options import CallsBenchOptions


@pytest.mark.workflow
def test_all_methods_keep_the_server_busy():
    options = CallsBenchOptions(questions=12, passages=30, extracted=24, concurrency=4, latency=(0.02, 0.06))
    found = bench_calls(options)
    rows = {row["method"]: row for row in found.data["methods"]}
    assert list(rows) == ["gear", "prism", "bridgerag", "extract"]
    assert [rows[name]["items"] for name in rows] == [12, 12, 12, 24]
    for row in rows.values():
        assert row["failed"] == 0
        assert row["most_in_flight"] == 4  # no more than allowed, and as many
        assert 0 <= row["steady_minimum"] <= row["steady_mean"] <= 4
        assert row["seconds"] >= row["critical_path"] > 0
    assert rows["bridgerag"]["calls"] == 36
    assert "latency 0.02 to 0.06 s, 4 calls at a time" in found.text


def test_the_least_time_of_calls():
    assert least_time([1.0] * 200, 64) == 4.0  # three are not enough for 192 of them
    assert least_time([1.0] * 64, 64) == 1.0
    assert least_time([4.0, 1.0, 1.0, 1.0], 2) == 4.0
    assert least_time([3.0, 3.0, 2.0], 2) == 5.0  # 3 and 2
    assert least_time([3.0, 3.0, 3.0, 1.0, 1.0], 2) == 6.0


def test_the_time_of_calls_in_order():
    assert time_in_order([1.0, 1.0, 4.0], 2) == 5.0  # the longest one last
    assert time_in_order([4.0, 1.0, 1.0], 2) == 4.0


def test_times_of_spans():
    spans = [(0.0, 2.0), (1.0, 3.0), (5.0, 6.0), (5.5, 7.0)]
    assert covered(spans) == pytest.approx(5.0)
    assert held(spans, 1) == pytest.approx(3.5 / 5.5)
    assert held(spans, 2) == pytest.approx(1.0 / 5.5)
    assert steady_state(spans, 2, 5.5) == (pytest.approx((2 + 1 + 0 + 0.5) / 4.5), 0)
    assert steady_state(spans, 2, 3.0) == (pytest.approx(1.5), 1)
    assert steady_state(spans, 3, 7.0) == (0.0, 0)  # never so many
