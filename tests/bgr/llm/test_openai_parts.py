"""The parts of the server backend without a server: asynchronous results, addresses, keys, pauses, strict schemas."""

import asyncio
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from bgr.errors import BgrError
from bgr.llm.backends.event_loop import results_of
from bgr.llm.backends.openai_backend import OpenAIBackend
from bgr.llm.backends.server_faults import Fault, pause, retry_after
from bgr.llm.backends.server_forms import fits_strict

KEY = "sk-very-secret"


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

    for _ in range(3):
        results = results_of(wait)
        assert next(results) == 1
        results.close()
        assert ended.pop()
    assert [thread.name for thread in threading.enumerate()].count("llm calls") == 1


def test_two_threads_share_the_loop():
    async def number(give):
        await asyncio.sleep(0.01)
        give(threading.current_thread().name)

    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda _: list(results_of(number)), range(8)))
    assert found == [["llm calls"]] * 8


def test_addresses_and_keys_that_cannot_be(monkeypatch):
    for url in ("localhost:8000", "ftp://host/v1", "http://", "http://host:port/v1"):
        with pytest.raises(BgrError, match="base_url"):
            OpenAIBackend("tiny", base_url=url)
    name = OpenAIBackend("tiny", base_url="https://user:pass@host:1/v1/?key=x").name
    assert name == "openai:tiny@https://host:1/v1"
    monkeypatch.setenv("OPENAI_API_KEY", f"{KEY}\nX: y")
    with pytest.raises(BgrError) as caught:
        OpenAIBackend("tiny", base_url="http://host/v1")
    assert KEY not in str(caught.value)


def test_retry_after_is_a_number_or_a_date():
    assert retry_after("2.5") == 2.5
    assert retry_after("-3") == 0
    assert retry_after(None) is retry_after("soon") is retry_after("nan") is None
    assert retry_after("Wed, 21 Oct 2015 07:28:00 GMT") == 0
    assert retry_after("Wed, 21 Oct 2099 07:28:00 GMT") > 1e9


def test_pauses_double_and_vary():
    fault = Fault("", "wait")
    for tried in (1, 2, 3):
        pauses = [pause(fault, tried, 1.0) for _ in range(50)]
        assert 2 ** (tried - 1) / 2 <= min(pauses) < max(pauses) <= 2 ** (tried - 1)
    assert 7 <= pause(Fault("", "wait", wait=7), 1, 1.0) <= 8


def test_which_schemas_are_strict(schema):
    assert fits_strict(schema)
    assert not fits_strict({**schema, "required": ["name"]})
    assert not fits_strict({"type": "array", "items": {"type": "object", "properties": {}}})
    assert fits_strict({"anyOf": [schema, {"type": "null"}]})
    assert not fits_strict({"anyOf": [{"type": "object"}]})
