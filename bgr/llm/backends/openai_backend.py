"""Backend for servers with OpenAI's chat protocol: vLLM, llama.cpp, Ollama, `transformers serve` and others."""

from __future__ import annotations

import asyncio
import queue
import time
from collections import deque
from collections.abc import Awaitable, Callable, Generator, Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeVar
from urllib.parse import urlsplit

import openai
from anyio.from_thread import start_blocking_portal

from bgr.errors import BgrError, DataError
from bgr.llm.backends.server_faults import LimitedStream, fault_of, key_in, limit_answers, pause, public_address
from bgr.llm.interface import Alternatives, Backend, Completion, LlmError, Request, Result, Unreachable
from bgr.llm.options import TIMEOUT
from bgr.utils.json_utils import parse_json, repr_short


def completion_of(body: bytes) -> Completion:
    """The reply in the body of a server's response; DataError says what a chat completion would need."""
    try:
        answer = parse_json(body.decode("utf-8"), "body")
    except UnicodeDecodeError:
        raise DataError("body: not UTF-8 text") from None
    choices = answer.get("choices") if isinstance(answer, dict) else None
    choice = choices[0] if isinstance(choices, list) and choices else None
    message = choice.get("message") if isinstance(choice, dict) else None
    text = message.get("content", "") if isinstance(message, dict) else None
    if not isinstance(choice, dict) or not isinstance(message, dict) or not isinstance(text, str | None):
        raise DataError(f"body: no choices[0].message.content in {repr_short(answer)}")
    cut = choice.get("finish_reason") == "length"
    return Completion(text or "", *_counts(answer.get("usage")), cut, _first(choice.get("logprobs")))


def _first(logprobs: Any) -> Alternatives:
    """The most likely first tokens, without those that the server returns in an invalid form."""
    content = logprobs.get("content") if isinstance(logprobs, Mapping) else None
    token = content[0] if isinstance(content, list) and content else None
    rows = token.get("top_logprobs") if isinstance(token, Mapping) else None
    found = []
    for row in rows if isinstance(rows, list) else ():
        text, value = (row.get("token"), row.get("logprob")) if isinstance(row, Mapping) else (None, None)
        if isinstance(text, str) and isinstance(value, int | float) and -1e6 < value < 1e6:
            found.append((text.encode("utf-8", "replace").decode(), min(float(value), 0.0)))
    return tuple(sorted(found, key=lambda pair: -pair[1]))


def _counts(usage: Any) -> tuple[int, int]:
    """Tokens of prompt and reply; both 0 (not counted) if the server does not return two valid numbers."""
    usage = usage if isinstance(usage, Mapping) else {}
    prompt, reply = usage.get("prompt_tokens"), usage.get("completion_tokens")
    return (prompt, reply) if all(type(n) is int and 0 <= n < 2**63 for n in (prompt, reply)) else (0, 0)


def fits_strict(schema: Any) -> bool:
    """True if every object of a schema requires all its properties and allows no others (OpenAI's strict mode)."""
    if isinstance(schema, list):
        return all(fits_strict(part) for part in schema)
    if not isinstance(schema, Mapping):
        return True
    if schema.get("type") == "object":
        names = set(schema.get("properties", {}))
        if schema.get("additionalProperties") is not False or set(schema.get("required", ())) != names:
            return False
    return all(fits_strict(part) for part in schema.values())


T = TypeVar("T")


def results_of(work: Callable[[Callable[[T], None]], Awaitable[None]]) -> Generator[T, None, None]:
    """Run asynchronous work and yield each result that it hands to its argument, as it comes.

    The event loop runs in its own thread, so that this also works inside another loop (notebooks). Closing the
    generator cancels the work.
    """
    results: queue.SimpleQueue[Any] = queue.SimpleQueue()
    end = object()
    with start_blocking_portal() as portal:
        future = portal.start_task_soon(work, results.put)
        future.add_done_callback(lambda _: results.put(end))
        try:
            while (result := results.get()) is not end:
                yield result
            future.result()
        finally:
            future.cancel()


class OpenAIBackend(Backend):
    """Concurrent calls over HTTP with retries.

    Objects are requested with ``response_format``. A server that ignores it (such as `transformers serve` 5.23) replies
    with free text, which `Llm` parses and repairs. If as many calls in a row as may run at once cannot reach the
    server, the remaining calls are not tried.

    Args:
        model: name of the model on the server.
        base_url: for example ``http://localhost:8000/v1``.
        api_key_env: environment variable with the key; it may be unset if the server requires no key. The key is never
            part of a message.
        concurrency: maximum number of concurrent calls.
        timeout: seconds of one try, up to the last byte of the response; a model on a CPU may take minutes. All tries
            of a call together, with the waits between them, take at most twice as long.
        retries: further tries after 408, 409, 425, 429, 5xx, timeouts, lost connections and invalid responses.
        first_wait: seconds before the second try; the wait doubles each time. ``Retry-After`` takes precedence.
        max_answer_bytes: maximum size of a response; a longer one is a failure.

    Raises:
        BgrError: the address or the key is invalid.
    """

    def __init__(
        self,
        model: str,
        *,
        base_url: str,
        api_key_env: str = "OPENAI_API_KEY",
        concurrency: int = 8,
        timeout: float = TIMEOUT,
        retries: int = 4,
        first_wait: float = 0.5,
        max_answer_bytes: int = 2_000_000,
    ) -> None:
        if concurrency < 1 or retries < 0 or timeout <= 0:
            raise BgrError(f"concurrency {concurrency}, retries {retries}, timeout {timeout}: allowed: ≥ 1, ≥ 0, > 0")
        self.model, self.base_url = model, base_url
        self.concurrency, self.timeout, self.retries = concurrency, timeout, retries
        self.first_wait, self.max_answer_bytes = first_wait, max_answer_bytes
        self.name = f"openai:{model}@{public_address(base_url)}"
        self._official = (urlsplit(base_url).hostname or "").endswith(".openai.com")
        self._key = key_in(api_key_env)

    def each(self, requests: Sequence[Request]) -> Generator[tuple[int, Result], None, None]:
        """See `Backend`; results are in the order of their arrival."""
        return results_of(lambda give: self._all(requests, give))

    async def _all(self, requests: Sequence[Request], give: Callable[[tuple[int, Result]], None]) -> None:
        gate = asyncio.Semaphore(self.concurrency)
        recent: deque[Result] = deque(maxlen=self.concurrency)

        async def one(client: openai.AsyncOpenAI, i: int, request: Request) -> None:
            async with gate:
                # an unreachable server is not tried again, since each failure takes many seconds
                gone = len(recent) == self.concurrency and all(isinstance(result, Unreachable) for result in recent)
                result = recent[-1] if gone else await self._call(client, request)
                recent.append(result)
                give((i, result))

        async with self._client() as client, asyncio.TaskGroup() as group:
            for i, request in enumerate(requests):
                group.create_task(one(client, i, request))

    async def _call(self, client: openai.AsyncOpenAI, request: Request) -> Result:
        """Try one request until it is answered or no further try is allowed. The client's own retries cover neither
        damaged or broken responses nor the time of a whole try."""
        end = time.monotonic() + 2 * self.timeout
        for tried in range(1, self.retries + 2):
            left = end - time.monotonic()
            try:
                call = client.chat.completions.with_streaming_response.create(**self._arguments(request))
                async with asyncio.timeout(min(self.timeout, left)), call as response:
                    # limited again, because these blocks are decompressed
                    blocks = LimitedStream(response.iter_bytes(), self.max_answer_bytes)
                    return self._checked(request, completion_of(b"".join([block async for block in blocks])))
            except Exception as error:  # from openai, its HTTP library, or the response; `fault_of` classifies it
                fault = fault_of(error, self._key)
            if not fault.again or tried > self.retries:
                break
            if time.monotonic() + (wait := pause(fault, tried, self.first_wait)) >= end:
                break
            await asyncio.sleep(wait)
        kind = Unreachable if fault.shared else LlmError
        return kind(f"{self.name}: {fault.text} ({'1 try' if tried == 1 else f'{tried} tries'})")

    def _checked(self, request: Request, completion: Completion) -> Result:
        """The completion, or an error without another try if the server does not support log-probabilities."""
        if request.top_logprobs and not completion.first:
            missing = f"no log-probabilities for the first token of step {request.step}"
            return LlmError(f"{self.name}: the server returns {missing}")
        return completion if request.top_logprobs else replace(completion, first=())

    def _arguments(self, request: Request) -> dict[str, Any]:
        # OpenAI's newer models accept only the new name of the length limit, other servers the old
        limit = "max_completion_tokens" if self._official else "max_tokens"
        arguments: dict[str, Any] = {
            "model": self.model,
            "messages": [{"role": m.role, "content": m.content} for m in request.messages],
            "temperature": request.temperature,
            "seed": request.seed,
            limit: request.max_tokens,
        }
        if request.top_logprobs:
            arguments |= {"logprobs": True, "top_logprobs": request.top_logprobs}
        if request.schema is not None:
            schema = {"name": "reply", "schema": request.schema, "strict": fits_strict(request.schema)}
            arguments["response_format"] = {"type": "json_schema", "json_schema": schema}
        return arguments

    def _client(self) -> openai.AsyncOpenAI:
        http = openai.DefaultAsyncHttpxClient(
            event_hooks={"response": [limit_answers(self.max_answer_bytes)]},
            follow_redirects=False,  # never to an address that the user did not give
        )
        return openai.AsyncOpenAI(
            api_key=self._key or "none",
            base_url=self.base_url,
            max_retries=0,  # our retries limit the total time of a try
            timeout=openai.Timeout(None, connect=min(self.timeout, 10.0)),
            default_headers={"Accept-Encoding": "identity"},
            http_client=http,
        )
