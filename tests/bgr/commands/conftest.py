"""Servers of chat completions on loopback, for commands that ask a language model."""

import json
import time
from collections import Counter
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
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
    writes: a text, or anything else as JSON; with a tuple, more fields of the choice come second; `None` hangs up."""
    running = []

    def start(write):
        asked = Counter()
        http = ThreadingHTTPServer(("127.0.0.1", 0), handler(write, asked))
        thread = Thread(target=http.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
        thread.start()
        running.append((http, thread))
        return ChatServer(f"http://127.0.0.1:{http.server_port}/v1#tiny", asked)

    yield start
    for http, thread in running:
        http.shutdown()
        thread.join()
        http.server_close()


def handler(write: Callable, asked: Counter) -> type:
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
            text, more = written if isinstance(written, tuple) else (written, {})
            message = {"role": "assistant", "content": text if isinstance(text, str) else json.dumps(text)}
            choices = [{"message": message, "finish_reason": "stop", **more}]
            reply = json.dumps({"choices": choices, "usage": {"prompt_tokens": 7, "completion_tokens": 3}}).encode()
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(reply)))
            self.end_headers()
            self.wfile.write(reply)

        def log_message(self, *_):
            pass

    return Handler


@pytest.fixture
def schema_server(chat_server):
    """Gives each step of any method something of its schema, in 20 ms: a process can be killed between two calls."""

    def write(request):
        time.sleep(0.02)
        value = some(request.get("response_format", {}).get("json_schema", {}).get("schema", {"type": "string"}))
        if not request.get("logprobs"):
            return json.dumps(value)
        top = [{"token": "Yes", "logprob": -0.1, "bytes": None}, {"token": "No", "logprob": -3, "bytes": None}]
        return json.dumps(value), {"logprobs": {"content": [{**top[0], "top_logprobs": top}]}}

    return chat_server(write)


def some(schema):
    """A value of a JSON schema."""
    if "enum" in schema:
        return schema["enum"][0]
    kind = schema.get("type")
    if kind == "object":
        return {name: some(part) for name, part in schema["properties"].items()}
    if kind == "array":
        parts = schema.get("prefixItems") or [schema["items"]] * max(1, schema.get("minItems", 0))
        return [some(part) for part in parts]
    return {"integer": schema.get("minimum", 1), "number": 0.5, "boolean": False}.get(kind, "Sweden")
