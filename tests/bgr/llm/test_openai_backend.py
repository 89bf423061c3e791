"""The backend against a faulty server on loopback."""

import asyncio
import json
import re
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from bgr.llm.backends.openai_backend import OpenAIBackend
from bgr.llm.interface import Completion, LlmError, Unreachable
from bgr.llm.language_model import Llm
from bgr.llm.replay import Replay

GOOD = '{"name": "Lyon", "size": 3}'
KEY = "sk-very-secret"


def answer(text, **choice):
    message = {"role": "assistant", "content": text}
    usage = {"prompt_tokens": 7, "completion_tokens": 2}
    return json.dumps({"choices": [{"message": message, "finish_reason": "stop", **choice}], "usage": usage}).encode()


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        server = self.server
        with server.lock:
            server.asked.append((time.monotonic(), self.path, self.headers, body))
            plays = server.plays[body["messages"][0]["content"].partition("\n\nReply with nothing but")[0]]
            play = plays.pop(0) if len(plays) > 1 else plays[0]
            server.at_once += 1
            server.most_at_once = max(server.most_at_once, server.at_once)
        try:
            play(self)
        except (BrokenPipeError, ConnectionResetError):
            pass  # the client has given up
        finally:
            with server.lock:
                server.at_once -= 1

    def send(self, body, status=200, length=None, **headers):
        self.send_response(status)
        for name, value in {"Content-Length": len(body) if length is None else length, **headers}.items():
            self.send_header(name.replace("_", "-"), str(value))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


def says(text, status=200, **headers):
    return lambda handler: handler.send(text if isinstance(text, bytes) else answer(text), status, **headers)


def slow_drip(handler):
    handler.send(b"{", length=1000)
    for _ in range(300):
        time.sleep(0.02)
        handler.wfile.write(b" ")
        handler.wfile.flush()
        if handler.server.closing:
            return
    handler.server.dripped = True


def breaks_off(handler):
    handler.send(answer(GOOD)[:40], length=len(answer(GOOD)))
    handler.close_connection = True


def endless(status):
    """A response of unlimited size without a declared length."""

    def play(handler):
        handler.send_response(status)
        handler.send_header("Transfer-Encoding", "chunked")
        handler.end_headers()
        for _ in range(10 * 16):
            handler.wfile.write(b"10000\r\n" + b" " * 65536 + b"\r\n")

    return play


def waits(handler):
    time.sleep(0.1)
    handler.send(answer("words"))


@pytest.fixture
def server():
    """Plays for each question, the last one for ever; `asked` is what came."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.lock, server.asked, server.plays = threading.Lock(), [], {}
    server.closing = server.dripped = False
    server.at_once = server.most_at_once = 0
    server.url = f"http://127.0.0.1:{server.server_port}/v1"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield server
    server.closing = True
    server.shutdown()
    server.server_close()
    thread.join()


@pytest.fixture
def backend(server, monkeypatch):
    """``backend(question=[plays])``: a backend on the server, quick to lose patience."""
    monkeypatch.setenv("OPENAI_API_KEY", KEY)

    def make(**plays):
        server.plays = {name: list(list_of) for name, list_of in plays.items()}
        return OpenAIBackend("tiny", base_url=server.url, timeout=2.0, patience=0.3, retries=2, first_wait=0.01)

    return make


def test_what_is_sent_and_what_comes_back(server, backend, ask_for, schema):
    model = backend(a=[says(answer("wor", finish_reason="length"))], b=[says(GOOD)])
    assert model.name == f"openai:tiny@{server.url}"
    a, b = model.complete([ask_for("a", max_tokens=9, temperature=0.5, seed=3), ask_for("b", schema)])
    assert (a, b) == (Completion("wor", 7, 2, True), Completion(GOOD, 7, 2, False))
    asked = {body["messages"][0]["content"]: (path, headers, body) for _, path, headers, body in server.asked}
    path, headers, body = asked["a"]
    assert (path, headers["Authorization"]) == ("/v1/chat/completions", f"Bearer {KEY}")
    assert body == {
        "model": "tiny",
        "messages": [{"role": "user", "content": "a"}],
        "max_tokens": 9,
        "temperature": 0.5,
        "seed": 3,
    }
    form = asked["b"][2]["response_format"]
    assert (form["type"], form["json_schema"]["schema"], form["json_schema"]["strict"]) == ("json_schema", schema, True)


@pytest.mark.workflow
def test_faults_that_pass(server, backend, ask_for, schema):
    """Each fault is over at the second or third try; the other calls are answered."""
    model = backend(
        limit=[says(b"{}", 429, Retry_After="0.3"), says(GOOD)],
        broken=[says(b"oops", 500), says(b"", 503), says(GOOD)],
        cut=[breaks_off, says(GOOD)],
        half=[says(answer(GOOD)[:30]), says(GOOD)],
        drip=[slow_drip, says(GOOD)],
        nothing=[says(b""), says(GOOD)],
        other=[says(b'{"result": "ok"}'), says(b"[]"), says(GOOD)],
        binary=[says(b"\xff\xfe"), says(GOOD)],
        fine=[says(GOOD)],
    )
    model.retries, model.patience = 5, 60.0  # a busy machine may add a time-out to them
    replies = Llm(model).ask([ask_for(name, schema) for name in server.plays])
    assert [(reply.failure, reply.value) for reply in replies] == [(None, {"name": "Lyon", "size": 3})] * 9
    limit = [when for when, _, _, body in server.asked if body["messages"][0]["content"] == "limit"]
    assert limit[1] - limit[0] >= 0.3


@pytest.mark.workflow
def test_faults_that_stay_are_one_line_each_and_a_second_run_mends_them(server, backend, ask_for, schema, tmp_path):
    plays = {
        "limit": ([says(b"{}", 429)], r"HTTP 429.*\(\d+ tries\)"),
        "broken": (
            [says(b'{"error": {"message": "a\\nb ' + KEY.encode() + b'"}}', 500)],
            r"HTTP 500.*\*\*\*.*\d tries",
        ),
        "echo": ([says(b"x" * 290 + KEY.encode(), 500)], "HTTP 500"),
        "refused": ([says(b'{"error": "no"}', 400)], "HTTP 400: no"),
        "patience": ([says(b"{}", 429, Retry_After=3600)], r"asks to wait 3,600 s.*\(1 try\)"),
        "drip": ([slow_drip], "no complete response in time"),
        "cut": ([breaks_off], "broke off"),
        "half": ([says(answer(GOOD)[:30])], "not a valid response: body: not valid JSON"),
        "other": ([says(b'{"choices": [{"message": {"content": 3}}]}')], "no choices"),
        "huge": ([says("x" * 10_000_000)], r"longer than allowed"),
        "endless": ([endless(200)], r"longer than allowed"),
        "endless_error": ([endless(500)], r"longer than allowed"),
        "empty": ([says("")], "the reply is empty"),
        "schema": ([says('{"name": 1}')], "is not of type|required"),
        "words": ([says("I cannot")], "JSON"),
        "fine": ([says(GOOD)], None),
    }
    requests = [ask_for(name, schema) for name in plays]
    with Replay(tmp_path / "replies") as replay:
        replies = Llm(backend(**{name: list_of for name, (list_of, _) in plays.items()}), replay=replay).ask(requests)
        for (name, (_, problem)), reply in zip(plays.items(), replies, strict=True):
            if problem is None:
                assert reply.value
                continue
            assert re.search(problem, reply.failure), (name, reply.failure)
            assert "\n" not in reply.failure
            assert KEY[:5] not in reply.failure
            assert len(reply.failure) < 600
        server.asked.clear()
        again = Llm(backend(**{name: [says(GOOD)] for name in plays}), replay=replay).ask(requests)
        mended = [reply.failure is None for reply in again]
        asked = {body["messages"][0]["content"] for *_, body in server.asked}
    # invalid replies of the model are cached unless they are empty; only other failures are requested again
    assert asked == set(plays) - {"schema", "words", "fine"}
    assert mended == [name not in ("schema", "words") for name in plays]


def test_no_server(ask_for, tmp_path):
    """One error that says so, soon: not every one of many calls waits for its own tries."""
    model = OpenAIBackend("tiny", base_url="http://127.0.0.1:9/v1", retries=2, first_wait=0.05, concurrency=4)
    began = time.monotonic()
    with Replay(tmp_path / "r") as replay, pytest.raises(Unreachable, match=r"cannot be reached.*run again") as caught:
        Llm(model, replay=replay).ask([ask_for(f"question {i}") for i in range(400)])
    assert time.monotonic() - began < 10
    assert "\n" not in str(caught.value)


def test_server_that_goes_away_loses_nothing(server, backend, ask_for, tmp_path):
    gone = says(b"", 503)
    requests = [ask_for(text) for text in "abc"]
    with Replay(tmp_path / "r") as replay:
        Llm(backend(a=[says("words")], b=[gone], c=[gone]), replay=replay).ask(requests)
        with pytest.raises(LlmError, match=r"all 2 calls of step test\.step failed: .*503"):
            Llm(backend(a=[gone], b=[gone], c=[gone]), replay=replay).ask(requests)
        replies = Llm(backend(a=[gone], b=[says("words")], c=[says("words")]), replay=replay).ask(requests)
    assert [reply.value for reply in replies] == ["words"] * 3


@pytest.mark.parametrize("status", [401, 403, 404, 307, 302], ids=str)
def test_what_would_fail_for_every_call_ends_the_run_with_one_line(server, backend, ask_for, status):
    """A refused key, a wrong address, a redirect: not tried again, and nothing goes to the other address."""
    model = backend(a=[says(b'{"error": "no"}', status, Location="http://user:word@127.0.0.1:9/v1?key=x")])
    with pytest.raises(Unreachable, match=f"HTTP {status}.*1 try.*run again to resume") as caught:
        Llm(model).ask([ask_for("a")])
    assert len(server.asked) == 1
    assert "word" not in str(caught.value)
    assert ("to http://127.0.0.1:9/v1;" in str(caught.value)) is (status < 400)


def test_a_key_is_neither_shown_in_a_redirect_nor_kept_from_a_reply(server, backend, ask_for, tmp_path, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    with Replay(tmp_path / "replies.db") as replay:
        model = backend(a=[says(f"your key is {KEY}")], b=[says(b"", 302, Location=f"http://{KEY}.example/{KEY}/v1")])
        [reply] = Llm(model, replay=replay).ask([ask_for("a")])
        with pytest.raises(Unreachable, match="it redirects to http") as caught:
            Llm(model).ask([ask_for("b")])
    assert reply.value == "your key is ***"
    assert KEY[-4:] not in str(caught.value)
    assert KEY.encode() not in (tmp_path / "replies.db").read_bytes()


@pytest.mark.parametrize("coding", ["zstd", "gzip, gzip", "br"])
def test_a_coding_that_was_not_asked_for(server, backend, ask_for, coding):
    """Some kilobytes of it may be gigabytes, all in one block."""
    model = backend(a=[says("words", Content_Encoding=coding), says("words")])
    model.first_wait = 0.01
    [reply] = Llm(model).ask([ask_for("a")])
    assert (reply.value, reply.usage.retried) == ("words", 1)


@pytest.mark.workflow
def test_a_restart_is_waited_out(ask_for, server):
    """A server that was reached before may be away for longer than the tries for a server that never was."""
    server.plays = {"a": [says("words", Connection="close")]}
    model = OpenAIBackend("tiny", base_url=server.url, patience=20.0, retries=0, first_wait=0.2)
    assert Llm(model).ask([ask_for("a")])[0].value == "words"
    address = server.server_address
    server.shutdown()
    server.server_close()

    def start():
        time.sleep(1)
        again = ThreadingHTTPServer(address, Handler)
        again.lock, again.asked, again.plays, again.at_once, again.most_at_once = server.lock, [], server.plays, 0, 0
        threading.Thread(target=again.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
        others.append(again)

    others = []
    thread = threading.Thread(target=start)
    thread.start()
    [reply] = Llm(model).ask([ask_for("a")])
    thread.join()
    others[0].shutdown()
    others[0].server_close()
    assert reply.value == "words"
    assert reply.usage.retried > 0


def test_no_more_at_once_than_allowed(server, ask_for):
    server.plays = {f"q{i}": [waits] for i in range(9)}
    model = OpenAIBackend("tiny", base_url=server.url, concurrency=3)
    assert all(isinstance(r, Completion) for r in model.complete([ask_for(name) for name in server.plays]))
    assert server.most_at_once == 3


def test_results_come_as_they_are_answered_and_a_closed_run_is_cancelled(server, ask_for):
    server.plays = {"slow": [slow_drip], "quick": [says("words")]}
    model = OpenAIBackend("tiny", base_url=server.url, timeout=30.0, retries=0)
    results = model.each([ask_for("slow"), ask_for("quick")])
    assert next(results) == (1, Completion("words", 7, 2))
    results.close()
    assert not server.dripped  # nobody waited for the end of the slow one


def test_inside_a_running_event_loop(backend, ask_for):
    model = backend(a=[says("words")])

    async def main():
        return model.complete([ask_for("a")])

    assert asyncio.run(main()) == [Completion("words", 7, 2)]


def test_messages_that_no_server_can_be_sent(backend, ask_for):
    half, fine = backend(a=[says("words")]).complete([ask_for("\ud800"), ask_for("a")])
    assert "lone surrogate (1 try)" in str(half)
    assert fine == Completion("words", 7, 2)


@pytest.mark.parametrize(
    "usage",
    [None, {}, {"prompt_tokens": 7}, {"completion_tokens": 2}, {"prompt_tokens": -1, "completion_tokens": "x"}],
    ids=str,
)
def test_replies_without_numbers_of_tokens_are_counted(backend, ask_for, tmp_path, usage):
    """The cache remembers it."""
    message = {"role": "assistant", "content": "words"}
    body = json.dumps({"choices": [{"message": message}]} | ({} if usage is None else {"usage": usage})).encode()
    model = backend(a=[says(body)], b=[says(answer("more"))])
    for cached in (0, 1):
        with Replay(tmp_path / "replies") as replay:
            bare, whole = Llm(model, replay=replay).ask([ask_for("a"), ask_for("b")])
        assert (bare.value, bare.usage.cached, bare.usage.uncounted) == ("words", cached, 1)
        assert (bare.usage.tokens_in, bare.usage.tokens_out) == (0, 0)
        assert (whole.usage.uncounted, (bare.usage + whole.usage).uncounted) == (0, 1)


def test_an_answer_without_content(backend, ask_for):
    bare = b'{"choices": [{"message": {"content": null}}]}'
    assert backend(a=[says(bare)]).complete([ask_for("a")]) == [Completion("", 0, 0)]


def alternatives(*pairs, **more):
    rows = [{"token": token, "logprob": value, "bytes": None} for token, value in pairs]
    return {"logprobs": {"content": [{"token": "x", "logprob": 0, "top_logprobs": rows, **more}]}}


def test_log_probabilities_of_the_first_token(server, backend, ask_for):
    odd = [3, {"token": "a"}, {"token": 3, "logprob": -1}, {"token": "b", "logprob": None}, {"logprob": -1}]
    odd += [{"token": "c", "logprob": 10**400}, {"token": "\ud800", "logprob": -3}, {"token": "d", "logprob": -9999.0}]
    model = backend(
        a=[says(answer("No", **alternatives(("No", -0.5), (" yes", -0.25), ("no", 1e-9))))],
        b=[says(answer("No", **alternatives(top_logprobs=odd)))],
        c=[says(answer("No", **alternatives(("No", -0.5))))],
    )
    a, b, c = model.complete([ask_for("a", top_logprobs=3), ask_for("b", top_logprobs=3), ask_for("c")])
    assert a == Completion("No", 7, 2, False, (("no", 0.0), (" yes", -0.25), ("No", -0.5)))
    assert b.first == (("?", -3.0), ("d", -9999.0))
    assert c == Completion("No", 7, 2)
    bodies = {body["messages"][0]["content"]: body for *_, body in server.asked}
    assert (bodies["a"]["logprobs"], bodies["a"]["top_logprobs"]) == (True, 3)
    assert not {"logprobs", "top_logprobs"} & bodies["c"].keys()


@pytest.mark.workflow
def test_a_server_without_log_probabilities_is_a_failure_and_is_not_asked_again(server, backend, ask_for, tmp_path):
    plays = {
        "none": answer("No"),
        "null": answer("No", logprobs=None),
        "text": answer("No", logprobs="x"),
        "empty": answer("No", logprobs={"content": []}),
        "bare": answer("No", logprobs={"content": [3]}),
        "odd": answer("No", **alternatives(top_logprobs=[{"token": 1}])),
        "null_rows": answer("No", **alternatives(top_logprobs=None)),
    }
    problem = "the server returns no log-probabilities for the first token of step test.step"
    with Replay(tmp_path / "replies") as replay:
        model = backend(**{name: [says(body)] for name, body in plays.items()})
        with pytest.raises(LlmError, match=f"all 7 calls of step test.step failed: .*{problem}"):
            Llm(model, replay=replay).ask([ask_for(name, top_logprobs=5) for name in plays])
        assert len(replay) == 0
        assert len(server.asked) == len(plays)
        [reply] = Llm(model, replay=replay).ask([ask_for("none", top_logprobs=5)])
        assert reply.failure.endswith(problem)
        assert (reply.usage.failed, reply.usage.unanswered) == (1, 1)
    refused = backend(a=[says(b'{"error": "top_logprobs is unknown"}', 400)])
    assert "HTTP 400" in str(refused.complete([ask_for("a", top_logprobs=5)])[0])
