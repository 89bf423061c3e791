"""A server that gives each step of any method something of its schema."""

import json
import time
from collections import Counter
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import NamedTuple

import pytest


class SchemaServer(NamedTuple):
    """`spec` as ``--llm`` takes it; `asked` counts the bodies of all calls."""

    spec: str
    asked: Counter


@pytest.fixture
def schema_server():
    """Answers in 20 ms, so that a process can be killed between two calls."""
    asked = Counter()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self):
            body = self.rfile.read(int(self.headers["Content-Length"]))
            asked[body] += 1
            time.sleep(0.02)
            request = json.loads(body)
            schema = request.get("response_format", {}).get("json_schema", {}).get("schema", {"type": "string"})
            message = {"role": "assistant", "content": json.dumps(some(schema))}
            choice = {"message": message, "finish_reason": "stop"}
            if request.get("logprobs"):
                top = [{"token": "Yes", "logprob": -0.1, "bytes": None}, {"token": "No", "logprob": -3, "bytes": None}]
                choice["logprobs"] = {"content": [{**top[0], "top_logprobs": top}]}
            reply = json.dumps({"choices": [choice], "usage": {"prompt_tokens": 7, "completion_tokens": 3}}).encode()
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(reply)))
            self.end_headers()
            self.wfile.write(reply)

        def log_message(self, *_):
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as http:
        thread = Thread(target=http.serve_forever, daemon=True)
        thread.start()
        yield SchemaServer(f"http://127.0.0.1:{http.server_port}/v1#tiny", asked)
        http.shutdown()
        thread.join()


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
