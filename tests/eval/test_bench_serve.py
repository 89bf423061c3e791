"""The verdict of a long load on a server."""

import math

import pytest

from eval.bench.serve import Sample, _text, _verdict, growth


def samples(memory, files=lambda t: 27, seconds=1_500, every=15):
    return [Sample(t, memory(t), files(t)) for t in range(0, seconds + 1, every)]


def test_memory_that_settles_does_not_grow():
    found = growth(samples(lambda t: 2e9 * (1 - math.exp(-t / 100)) + 1e6 * (t % 7)))
    assert abs(found["memory"]) < 1e-3
    assert found["files"] == 0
    assert found["seconds"] == 750
    assert "met (" in _verdict(found)


def test_a_single_step_is_no_growth():
    assert abs(growth(samples(lambda t: 2e9 + (4e7 if t > 1_400 else 0)))["memory"]) < 1e-3


@pytest.mark.parametrize(("memory", "files"), [(1e5, 0), (0, 0.01)])
def test_what_leaks_is_found(memory, files):
    found = growth(samples(lambda t: 2e9 + memory * t, lambda t: 27 + int(files * t)))
    assert found["memory"] == pytest.approx(750 * memory / (2e9 + memory * 1_125), rel=0.01)
    assert found["files"] == pytest.approx(750 * files, abs=1)
    assert "missed (" in _verdict(found)


def test_a_short_time_tells_nothing():
    assert "is judged from" in _verdict(growth(samples(lambda t: t, seconds=60)))
    assert math.isnan(growth([Sample(0, 1, 1), Sample(1, 2, 1)])["memory"])


def test_the_table_has_files_and_a_verdict():
    watched = samples(lambda t: 2e9)
    row = {
        "clients": 8,
        "answered": 10,
        "failed": 0,
        "refused": 0,
        "per_second": 1.0,
        "p50_ms": 1,
        "p95_ms": 2,
        "max_ms": 3,
    }
    row |= {"memory_gb": 1.0, "memory_after_gb": 2.0, "files": 27.0, "files_after": 28.0, "growth": growth(watched)}
    about = {"questions": 4, "seconds": 1_500, "threads": 2, "reference_per_second": 1.0}
    text = _text([{**row, "share": 0.9}], row, about)
    assert "files" in text
    assert text.splitlines()[2].split()[-2:] == ["27", "28"]
    assert text.splitlines()[-1].startswith("target: memory grows by at most 2%")
