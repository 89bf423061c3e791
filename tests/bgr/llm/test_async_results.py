"""Asynchronous work behind a generator: results as they come, errors, cancellation, and other event loops."""

import asyncio
import threading

import pytest

from bgr.llm.backends.openai_backend import results_of


async def three(give):
    for number in range(3):
        give(number)
        await asyncio.sleep(0)


def test_results_come_in_order_inside_another_loop_too():
    async def inside():
        return list(results_of(three))

    assert list(results_of(three)) == asyncio.run(inside()) == [0, 1, 2]


def test_an_error_comes_after_the_results_before_it():
    async def fail(give):
        give(1)
        raise ValueError("broken")

    results = results_of(fail)
    assert next(results) == 1
    with pytest.raises(ValueError, match="broken"):
        next(results)


def test_a_closed_generator_cancels_the_work():
    ended = []

    async def wait(give):
        try:
            give(1)
            await asyncio.sleep(60)
        finally:
            ended.append(True)

    threads = threading.active_count()
    results = results_of(wait)
    assert next(results) == 1
    results.close()
    assert ended == [True]
    assert threading.active_count() == threads
