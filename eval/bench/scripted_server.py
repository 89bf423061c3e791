"""A chat server on the loopback address with scripted replies, latencies, forms and faults: a double of real servers.

A reply depends only on the prompt: it fits the JSON schema of the request, and its texts are words of the prompt.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import multiprocessing
import random
import re
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any

QUOTED = 600
"""Characters of a prompt that are kept for statistics."""

WORDED = "fits this JSON schema:\n"
"""Before the schema, where a request has it in words."""


@dataclass(frozen=True)
class ServerKind:
    """Documented behavior of a kind of server.

    Args:
        schema_forms: types of ``response_format`` that it takes; others are refused with 400.
        limits: names of the limit of a reply that it takes.
        temperature: false if it refuses any temperature but 1.
        reasoning: field of the message with the reasoning; ``<think>`` if it is part of the content; empty if it is not
            shown.
        reasoning_tokens: tokens of the reasoning, which the limit of a reply includes.
        context: tokens of prompt and reply.
        overflow: the message of a prompt that is too long: ``vllm``, ``llama.cpp``, ``openai``, or ``bare`` (without
            numbers); an empty text truncates it silently.
        tells: where it tells its context length: ``models``, ``props`` or nowhere.
    """

    schema_forms: tuple[str, ...] = ("json_schema", "json_object")
    limits: tuple[str, ...] = ("max_tokens", "max_completion_tokens")
    temperature: bool = True
    reasoning: str = ""
    reasoning_tokens: int = 0
    context: int = 1 << 20
    overflow: str = "vllm"
    tells: str = ""


KINDS: Mapping[str, ServerKind] = {
    "vllm": ServerKind(context=4096, overflow="vllm", tells="models"),
    "vllm-reasoning": ServerKind(context=16_384, reasoning="reasoning_content", reasoning_tokens=1_000, tells="models"),
    "llama.cpp": ServerKind(limits=("max_tokens",), context=4096, overflow="llama.cpp", tells="props"),
    "llama.cpp-think": ServerKind(limits=("max_tokens",), reasoning="<think>", reasoning_tokens=1_000),
    "ollama": ServerKind(limits=("max_tokens",), context=4096, overflow=""),
    "ollama-reasoning": ServerKind(limits=("max_tokens",), reasoning="reasoning", reasoning_tokens=1_000),
    "deepseek": ServerKind(schema_forms=("json_object",), limits=("max_tokens",), context=65_536, overflow="openai"),
    "openai": ServerKind(context=128_000, overflow="openai"),
    "openai-reasoning": ServerKind(
        limits=("max_completion_tokens",), temperature=False, reasoning_tokens=1_000, context=200_000, overflow="openai"
    ),
    "plain": ServerKind(schema_forms=(), limits=("max_tokens",), context=4096, overflow="bare", tells="models"),
}
"""vLLM, llama.cpp, Ollama, DeepSeek, OpenAI, and a server that knows no ``response_format``."""


@dataclass(frozen=True)
class Reaction:
    """A response, instead of the scripted reply: its bytes on the connection, or none for a connection that is closed.

    Args:
        wait: seconds before it.
        body: of the response; a ``str`` replaces the text of the scripted reply.
        cut: end the scripted reply in the middle, as at its limit of tokens.
        length: declared length, if it is not that of the body.
    """

    status: int = 200
    body: bytes | str | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    wait: float = 0.0
    cut: bool = False
    length: int | None = None
    close: bool = False


Script = Callable[[int, Mapping[str, Any]], Reaction | None]
"""From the number of a call and its body to a reaction; ``None`` gives the scripted reply."""


def no_script(number: int, body: Mapping[str, Any]) -> Reaction | None:
    return None


class ScriptedServer:
    """See the module.

    Args:
        latency: seconds of each call, or bounds of a random number of seconds, which depends on the prompt.
        script: reactions to calls.
    """

    def __init__(
        self, kind: ServerKind | None = None, *, latency: tuple[float, float] = (0.0, 0.0), script: Script = no_script
    ) -> None:
        self.kind, self.latency, self.script = kind or ServerKind(), latency, script
        self.calls: list[dict[str, Any]] = []
        self.headers: list[Mapping[str, str]] = []
        self.in_flight = self.most = 0
        self.seconds = 0.0
        """Sum of latencies."""
        self.spans: list[tuple[float, float, str]] = []
        """Begin, end and last words of the prompt of each call."""
        self.port = 0

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/v1"

    async def serve(self, ready: Callable[[], object]) -> None:
        """Serve until cancelled; `ready` is called once the port is known."""
        server = await asyncio.start_server(self._connection, "127.0.0.1", 0, limit=1 << 26, backlog=512)
        self.port = server.sockets[0].getsockname()[1]
        ready()
        try:
            await asyncio.Event().wait()
        finally:
            server.close()  # without `wait_closed`, which from Python 3.12 on waits for connections that clients keep

    async def _connection(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
            while True:
                head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
                first, *lines = head.split("\r\n")
                headers = {k.lower(): v.strip() for k, _, v in (line.partition(":") for line in lines) if k}
                raw = await reader.readexactly(int(headers.get("content-length", 0)))
                method, path, _ = first.split(" ", 2)
                self.headers.append({**headers, ":path": path})
                reaction = self._told(path) if method == "GET" else await self._call(json.loads(raw))
                if reaction.status == 0:  # the connection is closed without a word
                    break
                body = reaction.body if isinstance(reaction.body, bytes) else b""
                length = len(body) if reaction.length is None else reaction.length
                fields = {"Content-Type": "application/json", "Content-Length": str(length), **reaction.headers}
                text = "".join(f"{name}: {value}\r\n" for name, value in fields.items())
                writer.write(f"HTTP/1.1 {reaction.status} X\r\n{text}\r\n".encode() + body)
                await writer.drain()
                if length != len(body) or reaction.close:
                    break
        writer.close()

    def _told(self, path: str) -> Reaction:
        if path.endswith("/stats"):
            stats = {"calls": len(self.spans), "most": self.most, "seconds": self.seconds, "spans": self.spans}
            return Reaction(body=json.dumps(stats).encode())
        if path.endswith("/models"):
            more = {"max_model_len": self.kind.context} if self.kind.tells == "models" else {}
            return Reaction(body=json.dumps({"object": "list", "data": [{"id": "m", **more}]}).encode())
        if path == "/props" and self.kind.tells == "props":
            settings = {"default_generation_settings": {"n_ctx": self.kind.context}}
            return Reaction(body=json.dumps(settings).encode())
        return Reaction(404, b"{}")

    async def _call(self, body: dict[str, Any]) -> Reaction:
        number = len(self.calls)
        self.calls.append(body)
        self.in_flight += 1
        self.most = max(self.most, self.in_flight)
        began = time.monotonic()
        try:
            reaction = self.script(number, body) or Reaction()
            refusal = self._refusal(body) if reaction == Reaction() else None
            low, high = self.latency
            seconds = reaction.wait
            if refusal is None:
                seconds += low + (high - low) * _random(body, "latency").random()
            await asyncio.sleep(seconds)
            self.seconds += seconds
        finally:
            self.in_flight -= 1
            self.spans.append((began, time.monotonic(), _prompt(body)[-QUOTED:]))
        if refusal is not None:
            return Reaction(400, json.dumps({"error": refusal}).encode())
        if isinstance(reaction.body, bytes) or reaction.status != 200:
            return reaction
        answer = self._answer(body, reaction)
        return Reaction(reaction.status, json.dumps(answer).encode(), reaction.headers, close=reaction.close)

    def _refusal(self, body: Mapping[str, Any]) -> dict[str, Any] | None:
        """The error of a parameter that this kind of server does not take."""
        form = body.get("response_format")
        if form is not None and form["type"] not in self.kind.schema_forms:
            return {"message": f"This response_format type is unavailable now: {form['type']}", "code": None}
        for name, other in (("max_tokens", "max_completion_tokens"), ("max_completion_tokens", "max_tokens")):
            if name in body and name not in self.kind.limits:
                text = f"Unsupported parameter: '{name}' is not supported with this model. Use '{other}' instead."
                return {"message": text, "param": name, "code": "unsupported_parameter"}
        if not self.kind.temperature and body.get("temperature", 1) != 1:
            text = "Unsupported value: 'temperature' does not support 0 with this model. Only 1 is supported."
            return {"message": text, "param": "temperature", "code": "unsupported_value"}
        limit, prompt = _limit(body), _tokens(body)
        if self.kind.overflow and prompt + limit > self.kind.context:
            return _overflow(self.kind.overflow, self.kind.context, prompt, limit)
        return None

    def _answer(self, body: Mapping[str, Any], reaction: Reaction) -> dict[str, Any]:
        text = reaction.body if isinstance(reaction.body, str) else scripted_reply(body)
        message: dict[str, Any] = {"role": "assistant", "content": text}
        limit, tokens = _limit(body), max(1, len(text) // 4) + self.kind.reasoning_tokens
        cut = reaction.cut or limit < self.kind.reasoning_tokens
        if reaction.cut:
            message["content"] = text[: max(1, len(text) * 2 // 3)]
        elif cut:
            message["content"] = None
        if self.kind.reasoning == "<think>":
            end = "" if cut and not reaction.cut else "\n</think>\n\n"
            message["content"] = f"<think>\nLet me see{end}{message['content'] or ''}"
        elif self.kind.reasoning:
            message[self.kind.reasoning] = "Let me see."
        choice: dict[str, Any] = {"index": 0, "message": message, "finish_reason": "length" if cut else "stop"}
        if body.get("logprobs"):
            share = _random(body, "yes").random()
            rows = [{"token": "yes", "logprob": -share}, {"token": "no", "logprob": -1.0}]
            choice["logprobs"] = {"content": [{"token": "yes", "logprob": -share, "top_logprobs": rows}]}
        usage: dict[str, Any] = {"prompt_tokens": _tokens(body), "completion_tokens": min(limit, tokens)}
        if self.kind.reasoning_tokens:
            usage["completion_tokens_details"] = {"reasoning_tokens": min(limit, self.kind.reasoning_tokens)}
        return {"id": "x", "object": "chat.completion", "choices": [choice], "usage": usage}


def scripted_reply(body: Mapping[str, Any]) -> str:
    """The reply to a prompt: JSON that fits its schema, or a few of its words."""
    form, text = body.get("response_format") or {}, body["messages"][-1]["content"]
    if form.get("type") == "json_schema":
        schema = form["json_schema"]["schema"]
    elif WORDED in text:
        schema = json.loads(text.rpartition(WORDED)[2])
    else:
        schema = {"type": "string"}
    rng = _random(body, "reply")
    words = re.findall(r"\w[\w'-]*", _prompt(body)) or ["nothing"]
    value = _fill(schema, rng, words)
    return value if isinstance(value, str) else json.dumps(value)


def _fill(schema: Mapping[str, Any], rng: random.Random, words: list[str]) -> Any:
    match schema.get("type"):
        case "object":
            return {name: _fill(part, rng, words) for name, part in schema["properties"].items()}
        case "array":
            least = schema.get("minItems", 0)
            count = rng.randint(max(1, least), min(schema.get("maxItems", 4), max(4, least)))
            return [_fill(schema["items"], rng, words) for _ in range(count)]
        case "integer":
            return rng.randint(schema.get("minimum", 1), schema.get("maximum", 4))
        case "boolean":
            return rng.random() < 0.3
    start = rng.randrange(len(words))
    return " ".join(words[start : start + rng.randint(1, 3)])


def _prompt(body: Mapping[str, Any]) -> str:
    """All messages, without a schema in words, so that the form of a request does not change its reply."""
    text = "\n".join(str(message["content"]) for message in body["messages"])
    head, found, _ = text.rpartition(f"\n\nReply with nothing but one JSON object that {WORDED}")
    return head if found else text


def _random(body: Mapping[str, Any], purpose: str) -> random.Random:
    return random.Random(hashlib.sha256(f"{purpose} {_prompt(body)}".encode()).digest())


def _limit(body: Mapping[str, Any]) -> int:
    return int(body.get("max_tokens") or body.get("max_completion_tokens") or 0)


def _tokens(body: Mapping[str, Any]) -> int:
    return sum(len(str(message["content"]).encode()) for message in body["messages"]) // 4


def _overflow(style: str, context: int, prompt: int, limit: int) -> dict[str, Any]:
    match style:
        case "llama.cpp":
            text = f"request ({prompt} tokens) exceeds the available context size ({context} tokens), try increasing it"
            numbers = {"n_prompt_tokens": prompt, "n_ctx": context}
            return {"code": 400, "message": text, "type": "exceed_context_size_error", **numbers}
        case "vllm":
            text = (
                f"'max_tokens' or 'max_completion_tokens' is too large: {limit}. This model's maximum context length "
                f"is {context} tokens and your request has {prompt} input tokens ({limit} > {context} - {prompt})."
            )
            return {"message": text, "type": "BadRequestError", "param": None, "code": 400}
        case "openai":
            text = (
                f"This model's maximum context length is {context} tokens. However, you requested {prompt + limit} "
                f"tokens ({prompt} in the messages, {limit} in the completion). Please reduce the length."
            )
            return {"message": text, "param": "messages", "code": "context_length_exceeded"}
    return {"message": "the prompt exceeds the context window", "code": 400}


@contextmanager
def in_thread(server: ScriptedServer) -> Iterator[ScriptedServer]:
    """The server in a thread of this process."""
    started = threading.Event()
    stops: list[Callable[[], object]] = []

    async def main() -> None:
        loop, task = asyncio.get_running_loop(), asyncio.current_task()
        stops.append(lambda: loop.call_soon_threadsafe(task.cancel) if task is not None else None)
        await server.serve(started.set)

    def run() -> None:
        with suppress(asyncio.CancelledError):
            asyncio.run(main())

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    started.wait()
    try:
        yield server
    finally:
        stops[0]()
        thread.join()


@contextmanager
def in_process(latency: tuple[float, float]) -> Iterator[str]:
    """The address of a server in another process; ``GET …/stats`` tells its counts."""
    context = multiprocessing.get_context("spawn")
    mine, its = context.Pipe()
    process = context.Process(target=_run, args=(its, latency), daemon=True)
    process.start()
    try:
        yield mine.recv()
    finally:
        process.terminate()
        process.join()


def _run(pipe: Any, latency: tuple[float, float]) -> None:
    server = ScriptedServer(latency=latency)
    asyncio.run(server.serve(lambda: pipe.send(server.url)))
