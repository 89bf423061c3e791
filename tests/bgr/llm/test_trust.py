"""What a server cannot do: hold a call for ever, leave an empty reply in the cache, or get its key printed."""

import socket
import time
from types import SimpleNamespace

import pytest

from bgr.data.options import ParaphraseOptions
from bgr.llm.backends.openai_backend import OpenAIBackend
from bgr.llm.backends.server_faults import without_key
from bgr.llm.interface import Backend, Completion, Message, Request
from bgr.llm.language_model import Llm
from bgr.llm.options import TIMEOUT
from bgr.llm.replay import Replay
from bgr.utils.options import OptionsError
from eval.systems.options import CompareOptions
from eval.systems.resources import Resources

QUESTION = Request("step", (Message("user", "Who?"),))
KEY = "sk-proj-0123456789abcdefWXYZ"


@pytest.mark.workflow
def test_a_server_that_never_answers_is_given_up():
    with socket.socket() as silent:  # it accepts, and says nothing
        silent.bind(("127.0.0.1", 0))
        silent.listen(64)
        address = f"http://127.0.0.1:{silent.getsockname()[1]}/v1"
        model = OpenAIBackend("tiny", base_url=address, timeout=0.5, retries=100, first_wait=0.01)
        start = time.monotonic()
        [result] = model.complete([QUESTION])
        assert 0.9 < time.monotonic() - start < 30
    assert "no complete response in time" in str(result)


def test_the_patience_is_an_option(tmp_path):
    spec = "http://127.0.0.1:9/v1#tiny"
    options = {"data": tmp_path, "out": tmp_path / "out", "systems": ["bm25"]}
    data = SimpleNamespace(corpus=None, sentences={})
    assert Resources(CompareOptions(**options, timeout=7), data).backend(spec).timeout == 7
    assert Resources(CompareOptions(**options), data).backend(spec).timeout == TIMEOUT
    words = {"source": tmp_path, "out": tmp_path / "out", "llm": spec}
    assert ParaphraseOptions(**words, timeout=9).timeout == 9
    with pytest.raises(OptionsError, match=r"--timeout: 0: allowed: 0\.1 to 86400"):
        ParaphraseOptions(**words, timeout=0)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        (f"Incorrect API key provided: {KEY}. Look", "Incorrect API key provided: ***. Look"),
        ("Incorrect API key provided: sk-proj-01****WXYZ.", "Incorrect API key provided: ***********."),
        (f"{KEY[:20]}\n{KEY[3:]}", "***\n***"),
        ("WXYZ", "***"),
        ("nothing of it: sk-, XYZ", "nothing of it: sk-, XYZ"),
    ],
)
def test_no_part_of_a_key_is_shown(text, shown):
    found = without_key(text, KEY)
    assert not any(KEY[start : start + 4] in found for start in range(len(KEY) - 3))
    assert found.replace("*", "") == shown.replace("*", "")


def test_without_a_key_or_with_a_short_one():
    assert without_key("the text", "") == "the text"
    assert without_key("a k of it", "k") == "a *** of it"


class Empty(Backend):
    name = "empty"

    def __init__(self):
        self.calls = 0

    def complete(self, requests):
        self.calls += len(requests)
        return [Completion(" \n" if self.calls < 3 else "Bergman", 1, 1) for _ in requests]


def test_an_empty_reply_is_not_kept(tmp_path):
    model = Empty()
    with Replay(tmp_path / "replies.db") as replay:
        [reply] = Llm(model, replay=replay).ask([QUESTION])
        assert reply.failure
        assert (model.calls, len(replay)) == (2, 0)
        [reply] = Llm(model, replay=replay).ask([QUESTION])
        assert (reply.value, len(replay)) == ("Bergman", 1)
        [reply] = Llm(model, replay=replay).ask([QUESTION])
        assert (reply.value, model.calls) == ("Bergman", 3)
