"""Servers of chat completions on loopback, for commands that ask a language model."""

import json
import math
import re
import time
import zlib
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from random import Random
from threading import Thread
from typing import NamedTuple

import pytest

from bgr.cli import main


@pytest.fixture
def bgr(capsys):
    """``bgr("index", "show", folder)``: the exit code, standard output, and the last line of standard error."""

    def call(*words):
        capsys.readouterr()
        code = main([str(word) for word in words])
        out, err = capsys.readouterr()
        return code, out, err.strip().splitlines()[-1] if err.strip() else ""

    return call


@pytest.fixture
def pictures():
    """Draws a report's pictures, which take longer than most comparisons of a test."""


@pytest.fixture(autouse=True)
def no_pictures(request, monkeypatch):
    """Empty files in place of a report's pictures, but for tests that ask for `pictures`."""
    if "pictures" not in request.fixturenames:
        for name in ("plot_pareto", "plot_recall"):
            monkeypatch.setattr(f"eval.report.passages.{name}", lambda _, path: Path(path).touch())


USAGE = {"prompt_tokens": 7, "completion_tokens": 3}


class ChatServer(NamedTuple):
    """`spec` as ``--llm`` takes it; `asked` counts the bodies of all calls."""

    spec: str
    asked: Counter

    @property
    def calls(self):
        return self.asked.total()


@pytest.fixture
def chat_server():
    """Starts servers: ``chat_server(write)``, where `write` gets the request, an object, and gives what the model
    writes: a text, or anything else as JSON; with a tuple, more fields of the choice come second; `None` hangs up, and
    a function gets the handler, to do what is wrong. ``chat_server(write, port)`` has that port; `usage` is what it
    counts in each reply."""
    running = []

    def start(write, port=0, *, usage=USAGE):
        asked = Counter()
        http = ThreadingHTTPServer(("127.0.0.1", port), handler(write, asked, usage))
        thread = Thread(target=http.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
        thread.start()
        running.append((http, thread))
        return ChatServer(f"http://127.0.0.1:{http.server_port}/v1#tiny", asked)

    yield start
    for http, thread in running:
        http.shutdown()
        thread.join()
        http.server_close()


def handler(write: Callable, asked: Counter, usage: dict) -> type:
    class Handler(BaseHTTPRequestHandler):
        def do_POST(self):
            length = int(self.headers["Content-Length"])
            body = self.rfile.read(length)
            if len(body) < length:  # the client was killed while it wrote
                return
            asked[body] += 1
            written = write(json.loads(body))
            if written is None:
                return
            if callable(written):
                with suppress(ConnectionError):  # the client has given up
                    written(self)
                return
            text, more = written if isinstance(written, tuple) else (written, {})
            message = {"role": "assistant", "content": text if isinstance(text, str) else json.dumps(text)}
            choices = [{"message": message, "finish_reason": "stop", **more}]
            reply = json.dumps({"choices": choices, "usage": usage}).encode()
            with suppress(ConnectionError):
                self.send(reply)

        def send(self, reply, status=200, length=None):
            """`length` is what the header says, where that is not the truth."""
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(reply) if length is None else length))
            self.end_headers()
            self.wfile.write(reply)

        def log_message(self, *_):
            pass

    return Handler


@pytest.fixture
def schema_server(chat_server):
    """Gives each step of any method something of its schema, drawn by a hash of its prompt, so that a reply that goes
    to another prompt is seen; in 10 to 30 ms, so that replies come in another order than they are asked for, and a
    process can be killed between two calls."""

    def write(request):
        time.sleep(0.01 + zlib.crc32(json.dumps(request).encode()) % 20 / 1000)
        return reply_to(request)

    return chat_server(write)


def reply_to(request):
    """A reply that fits the request: an object of its schema, or a graph in words, with a yes and a no if
    log-probabilities are requested."""
    draw = Random(zlib.crc32(json.dumps(request["messages"]).encode()))
    if "response_format" in request:
        value = some(request["response_format"]["json_schema"]["schema"], draw)
        if "keep" in value:  # only what was chosen can be kept
            shown = request["messages"][0]["content"].partition("Chosen sentences:")[2]
            chosen = [[int(n) for n in pair] for pair in re.findall(r"\[(\d+), (\d+)\]", shown)]
            value["keep"] = draw.sample(chosen, max(1, len(chosen) - 1))
        return value
    a, b, c = (draw.randint(1, 3) for _ in range(3))
    yes = draw.uniform(0.05, 0.95)
    top = [{"token": word, "logprob": math.log(p), "bytes": None} for word, p in (("Yes", yes), ("No", 1 - yes))]
    return f"Edges: Q -> {a}, Q -> {b}, {b} -> {c}", {"logprobs": {"content": [{**top[0], "top_logprobs": top}]}}


def some(schema, draw):
    """A value of a JSON schema; never a yes, so that no method is done before its last round."""
    kind = schema.get("type")
    if kind == "object":
        return {name: some(part, draw) for name, part in schema["properties"].items()}
    if kind == "array":
        least = schema.get("minItems", 0)
        return [
            some(schema["items"], draw)
            for _ in range(draw.randint(max(1, least), max(least, min(3, schema["maxItems"]))))
        ]
    if kind == "integer":
        return draw.randint(schema.get("minimum", 1), schema.get("maximum", 3))
    return False if kind == "boolean" else draw.choice(["Sweden", "Paris", "Alpha", "the capital of Sweden", "France"])


@pytest.fixture
def fitting_reply():
    """See `reply_to`: what the ``schema_server`` says."""
    return reply_to


@pytest.fixture
def capitals(tmp_path):
    """``capitals(6)``: files of so many questions in MuSiQue's form, over three passages of four sentences, and of the
    passages' triples."""

    def write(count):
        posed, triples = capital_questions(count)
        (tmp_path / "q.json").write_text(json.dumps(posed))
        (tmp_path / "t.json").write_text(json.dumps(triples))
        return tmp_path / "q.json", tmp_path / "t.json"

    return write


def capital_questions(count):
    facts = {
        "Paris": "Paris is the capital of France . ",
        "Persona": "Persona was made in Sweden by Bergman . ",
        "Alpha": "Alpha is the capital of Sweden . ",
    }
    facts = {title: fact + "It is old . It is known . It is large ." for title, fact in facts.items()}
    paragraphs = [
        {"idx": n, "title": title, "paragraph_text": text, "is_supporting": title != "Paris"}
        for n, (title, text) in enumerate(facts.items())
    ]
    steps = [
        {"id": 1, "question": "Where was Persona made ?", "answer": "Sweden", "paragraph_support_idx": 1},
        {"id": 2, "question": "What is the capital of #1 ?", "answer": "Alpha", "paragraph_support_idx": 2},
    ]
    triples = [["Persona", "made in", "Sweden"], ["Alpha", "capital of", "Sweden"]]
    docs = [{"title": t, "text": x, "extracted_triples": triples if t != "Paris" else []} for t, x in facts.items()]
    same = {"answer": "Alpha", "answer_aliases": [], "answerable": True, "paragraphs": paragraphs}
    same["question_decomposition"] = steps
    posed = [{"id": f"2hop__{n}", "question": f"What is capital number {n} of Sweden ?", **same} for n in range(count)]
    return posed, {"docs": docs}


@pytest.fixture
def told():
    """``told(folder)``: what ``results.jsonl`` says of each system and question, but for what was counted and timed."""

    def read(folder):
        lines = (folder / "results.jsonl").read_bytes().splitlines(keepends=True)
        assert all(line.endswith(b"\n") for line in lines)
        records = [json.loads(line) for line in lines]
        return {(one["system"], one["id"]): without(one, "usage", "seconds", "key") for one in records}

    return read


def without(value, *names):
    """A record without these fields, wherever they stand in it."""
    if isinstance(value, list):
        return [without(one, *names) for one in value]
    if isinstance(value, dict):
        return {name: without(one, *names) for name, one in value.items() if name not in names}
    return value
