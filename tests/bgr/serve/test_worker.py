"""The queue before the models."""

import asyncio
import threading
import time

import pytest

from bgr.errors import DataError
from bgr.serve.worker import FullError, StoppedError, Worker


def worker(work, **options):
    return Worker(work, **{"max_queue": 10, "batch_size": 4, "wait": 0.2, **options})


def outcomes(work, items, **options):
    """The results and errors of the items, and the sizes of the batches."""
    sizes = []
    one = worker(work, on_batch=sizes.append, **options)

    async def run():
        return await asyncio.gather(*one.submit(items), return_exceptions=True)

    found = asyncio.run(run())
    assert one.stop(10)
    assert one.pending == 0
    return found, sizes


def test_batches_in_order():
    found, sizes = outcomes(lambda items: [2 * item for item in items], range(10))
    assert [one.result for one in found] == [2 * item for item in range(10)]
    assert sizes == [4, 4, 2]
    assert all(one.waited >= 0 and one.seconds >= 0 for one in found)


def test_a_single_item_waits_for_nobody():
    began = time.monotonic()
    [found], sizes = outcomes(lambda items: items, ["a"], wait=60)
    assert (found.result, sizes) == ("a", [1])
    assert time.monotonic() - began < 30


def test_after_several_items_the_next_ones_are_waited_for():
    sizes = []
    one = worker(lambda items: items, wait=10, batch_size=2, on_batch=sizes.append)

    async def run():
        await asyncio.gather(*one.submit("ab"))
        first = one.submit("c")
        await asyncio.sleep(0.1)  # a batch that begins at once would have begun
        return await asyncio.gather(*first, *one.submit("d"))

    assert [done.result for done in asyncio.run(run())] == ["c", "d"]
    assert one.stop(20)
    assert sizes == [2, 2]


def test_one_that_fails_harms_no_other():
    def work(items):
        if 2 in items:
            raise DataError("two")
        return items

    found, sizes = outcomes(work, range(4))
    assert [str(one) if isinstance(one, DataError) else one.result for one in found] == [0, 1, "two", 3]
    assert sizes == [4]


def test_a_wrong_number_of_results_is_an_error():
    found, _ = outcomes(lambda items: items[:-1], range(2))
    assert all(isinstance(one, RuntimeError) for one in found)


def test_what_was_given_up_is_not_worked_on():
    seen, begun, go = [], threading.Event(), threading.Event()

    def work(items):
        begun.set()
        go.wait(10)
        seen.extend(items)
        return items

    one = worker(work, batch_size=1)

    async def run():
        first, second, third = one.submit("abc")
        await asyncio.to_thread(begun.wait, 10)
        second.cancel()
        go.set()
        return (await first).result, (await third).result

    assert asyncio.run(run()) == ("a", "c")
    assert one.stop(10)
    assert seen == ["a", "c"]


def test_all_of_a_request_or_none():
    begun, go = threading.Event(), threading.Event()

    def work(items):
        begun.set()
        go.wait(10)
        return items

    one = worker(work, max_queue=3)

    async def run():
        futures = one.submit("ab")
        with pytest.raises(FullError):
            one.submit("cd")
        futures += one.submit("e")
        go.set()
        return [(await future).result for future in futures]

    assert asyncio.run(run()) == ["a", "b", "e"]
    assert one.stop(10)


def test_a_stopped_worker_ends_what_waits_and_takes_no_more():
    begun, go = threading.Event(), threading.Event()

    def work(items):
        begun.set()
        go.wait(10)
        return items

    one = worker(work, batch_size=1)

    async def run():
        futures = one.submit("ab")
        assert not one.stop(0.05)
        with pytest.raises(StoppedError):
            one.submit("c")
        go.set()
        return [(await future).result for future in futures]

    assert asyncio.run(run()) == ["a", "b"]
    assert one.stop(10)
