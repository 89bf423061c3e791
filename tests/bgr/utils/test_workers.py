"""Side-by-side work: turns, order of arrival, errors, cancelling."""

import threading
import time
from concurrent.futures import CancelledError, Future

import pytest

from bgr.utils.workers import each_of, waiting


def wait(seconds):
    """Wait as a call of a server does."""
    future = Future()
    timer = threading.Timer(seconds, lambda: future.cancelled() or future.set_result(None))
    timer.daemon = True
    timer.start()
    with waiting(future.cancel):
        future.result()


def test_a_slow_item_holds_no_other_back():
    def work(item):
        wait(0.5 if item == 0 else 0.01)
        return item * item

    found = list(each_of(work, range(20), 4))
    assert found[-1] == (0, 0)
    assert dict(found) == {number: number * number for number in range(20)}


def test_only_one_item_computes_at_a_time():
    inside = []

    def work(item):
        for _ in range(5):
            inside.append(item)
            time.sleep(0.001)
            assert inside.pop() == item
            assert not inside
            wait(0.001)
        return item

    assert len(list(each_of(work, iter(range(16)), 8))) == 16


def test_nested_work_shares_the_turns():
    busy = []

    def inner(item):
        busy.append(item)
        time.sleep(0.001)
        assert busy == [item]
        busy.clear()
        wait(0.002)
        return item

    def work(item):
        return sum(value for _, value in each_of(inner, range(item, item + 3), 3))

    assert dict(each_of(work, range(6), 3)) == {n: 3 * n + 3 for n in range(6)}


def test_an_error_stops_the_others():
    started, ended = [], []

    def work(item):
        started.append(item)
        if item == 2:
            raise ValueError("two")
        try:
            wait(30)
        except CancelledError:
            ended.append(item)
            raise

    before = time.monotonic()
    with pytest.raises(ValueError, match="two"):
        list(each_of(work, range(1000), 3))
    assert time.monotonic() - before < 5
    assert sorted(ended) == [0, 1]
    assert sorted(started) == [0, 1, 2]


def test_an_error_of_the_items_is_raised():
    def items():
        yield 1
        raise ValueError("no more")

    with pytest.raises(ValueError, match="no more"):
        list(each_of(lambda item: item, items(), 2))


def test_a_closed_generator_stops_the_work_within_nested_work_too():
    threads = threading.active_count()
    ended = []

    def work(item):
        if item == 0:
            return item
        try:
            return list(each_of(lambda _: wait(30), range(2), 2))
        finally:
            ended.append(item)

    results = each_of(work, range(3), 3)
    assert next(results) == (0, 0)
    results.close()
    assert sorted(ended) in ([], [1], [2], [1, 2])  # what had begun has ended
    deadline = time.monotonic() + 5
    while threading.active_count() > threads + 4 and time.monotonic() < deadline:  # timers of `wait` may be left
        time.sleep(0.01)
    assert not [thread for thread in threading.enumerate() if thread.name.startswith("worker ")]


def test_one_worker_needs_no_thread():
    threads = threading.active_count()
    found = [(pair, threading.active_count()) for pair in each_of(str, [1, 2], 1)]
    assert found == [((0, "1"), threads), ((1, "2"), threads)]
