"""Backend for servers with OpenAI's chat protocol: vLLM, llama.cpp, Ollama, DeepSeek, `transformers serve`, OpenAI."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any
from urllib.parse import urlsplit, urlunsplit

import httpx

from bgr.errors import BgrError
from bgr.llm.backends.context import fitted, length_of, overflow_of, tokens_of
from bgr.llm.backends.event_loop import results_of
from bgr.llm.backends.server_faults import (
    Fault,
    Refused,
    fault_of,
    key_in,
    pause,
    public_address,
    read_limited,
    without_whole_key,
)
from bgr.llm.backends.server_forms import REASONING_TOKENS, ServerForm
from bgr.llm.backends.server_replies import InvalidReply, ServerReply, reply_of
from bgr.llm.backends.wait_notice import WaitNotice
from bgr.llm.interface import Backend, LlmError, Request, Result, Retries, Unreachable
from bgr.llm.options import CONCURRENCY, PATIENCE, TIMEOUT

Give = Callable[[tuple[int, Result]], None]


@dataclass
class _Call:
    """The state of one call: the request as it is sent, and what its failed tries took."""

    request: Request
    clipped: bool = False
    retries: Retries = field(default_factory=Retries)

    def again(self, tokens: tuple[int, int] = (0, 0)) -> None:
        """Count a further try; `tokens` are those of the reply that could not be used."""
        self.retries += Retries(1, *tokens)


class _Effort:
    """How long one call is tried again."""

    def __init__(self, backend: OpenAIBackend, began: float) -> None:
        self.backend, self.began = backend, began
        self.tried = self.broken = self.slow = 0
        self.waited = 0.0
        self.end: float | None = None

    @property
    def tries(self) -> str:
        return "1 try" if self.tried == 1 else f"{self.tried} tries"

    def wait_after(self, fault: Fault) -> float | None:
        """Seconds before the next try; ``None`` if there is none."""
        backend, now = self.backend, time.monotonic()
        self.tried += 1
        self.slow += fault.timed_out
        wait = pause(fault, self.tried, backend.first_wait)
        if fault.kind == "wait" and (backend.reached or not fault.unreachable):
            self.end = now + backend.patience if self.end is None else self.end
            last = now + wait > self.end
        elif fault.kind in ("wait", "retry"):
            self.broken += 1
            spent = now - self.began - self.waited  # at most three times the limit of one try
            last = self.broken > backend.retries or self.slow > 1 or spent > 2 * backend.timeout
        else:
            last = True
        self.waited += wait
        return None if last else wait


class OpenAIBackend(Backend):
    """Concurrent calls over HTTP with retries.

    The form of requests that the server takes is found out from its refusals and remembered (`ServerForm`): how objects
    are requested, the name of the limit, whether a temperature is allowed. A server that ignores a schema replies with
    free text, which `Llm` parses and repairs. Reasoning is not part of a reply; if it used up the limit of a reply,
    further replies get more tokens.

    A prompt that exceeds the context is truncated in the middle (`bgr.llm.backends.context.fitted`) and sent once more.

    Args:
        model: name of the model on the server.
        base_url: for example ``http://localhost:8000/v1``. Redirects are not followed, so that the key goes to no other
            address.
        api_key_env: environment variable with the key; it may be unset if the server requires no key. The key is never
            part of a message.
        concurrency: maximum number of concurrent calls.
        timeout: seconds of one try, up to the last byte of the response; a model on a CPU may take minutes. A call that
            had no complete response in time twice is a failure.
        patience: seconds over which a call is tried again after 408, 409, 425, 429, 5xx and lost connections, with
            growing waits. ``Retry-After`` takes precedence.
        retries: further tries of responses that break off or are not valid, and of a server that was never reached.
        first_wait: seconds before the second try; the wait doubles each time.
        max_answer_bytes: maximum size of a response; a longer one is a failure.
        extra_body: further fields of each request's body.
        context_tokens: context length; default: the server is asked once it refuses a prompt. If it is given, longer
            prompts (3 bytes a token) are truncated before they are sent, for servers that would truncate them silently.
        reasoning_tokens: tokens for reasoning, in addition to the limit of each reply.

    Raises:
        BgrError: the address, the key or a number is invalid.
    """

    def __init__(
        self,
        model: str,
        *,
        base_url: str,
        api_key_env: str = "OPENAI_API_KEY",
        concurrency: int = CONCURRENCY,
        timeout: float = TIMEOUT,
        patience: float = PATIENCE,
        retries: int = 4,
        first_wait: float = 0.5,
        max_answer_bytes: int = 2_000_000,
        extra_body: Mapping[str, Any] | None = None,
        context_tokens: int | None = None,
        reasoning_tokens: int = 0,
    ) -> None:
        if concurrency < 1 or retries < 0 or timeout <= 0 or patience < 0:
            given = f"concurrency {concurrency}, retries {retries}, timeout {timeout}, patience {patience}"
            raise BgrError(f"{given}: allowed: ≥ 1, ≥ 0, > 0, ≥ 0")
        self.model, self.base_url = model, base_url
        self.concurrency, self.timeout, self.patience, self.retries = concurrency, timeout, patience, retries
        self.first_wait, self.max_answer_bytes = first_wait, max_answer_bytes
        self.extra_body, self.context_tokens = dict(extra_body or {}), context_tokens
        address = public_address(base_url)
        # what changes the replies is part of the name
        changes = {"body": self.extra_body, "context": context_tokens, "reasoning": reasoning_tokens}
        changes = {name: value for name, value in changes.items() if value}
        self.name = f"openai:{model}@{address}" + (f" {json.dumps(changes, sort_keys=True)}" if changes else "")
        official = (urlsplit(base_url).hostname or "").endswith(".openai.com")
        limit: Any = "max_completion_tokens" if official else "max_tokens"
        self.form = ServerForm(limit=limit, reasoning_tokens=reasoning_tokens)
        """The form of requests that the server takes, as far as it is known."""
        self._key = key_in(api_key_env)
        self._clients: tuple[asyncio.AbstractEventLoop, asyncio.LifoQueue[httpx.AsyncClient]] | None = None
        self._finding_out = asyncio.Lock()
        self._notice = WaitNotice(address)
        self._known_forms: set[str] = set()
        self.reached = False
        """Whether the server has ever responded."""
        self._told_length: int | None = None
        self._asked_length = False

    def each(self, requests: Sequence[Request]) -> Generator[tuple[int, Result], None, None]:
        """See `Backend`; results are in the order of their arrival."""
        return results_of(lambda give: self._all(requests, give))

    async def _all(self, requests: Sequence[Request], give: Give) -> None:
        clients = self._opened()

        async def one(i: int, request: Request) -> None:
            client = await clients.get()
            try:
                give((i, await self._call(client, request)))
            finally:
                clients.put_nowait(client)

        async with asyncio.TaskGroup() as group:
            for i, request in enumerate(requests):
                group.create_task(one(i, request))

    def _opened(self) -> asyncio.LifoQueue[httpx.AsyncClient]:
        """The free clients of the running loop, one for each call that is allowed at a time; their connections are kept
        between batches. The pool of a single client would look at all its connections before and after each call."""
        loop = asyncio.get_running_loop()
        if self._clients is None or self._clients[0] is not loop:
            key = {"Authorization": f"Bearer {self._key}"} if self._key else {}
            context = httpx.create_ssl_context()
            clients: asyncio.LifoQueue[httpx.AsyncClient] = asyncio.LifoQueue()
            for _ in range(self.concurrency):
                client = httpx.AsyncClient(
                    timeout=httpx.Timeout(None, connect=min(self.timeout, 10.0)),
                    follow_redirects=False,  # never to an address that the user did not give
                    headers={"Accept-Encoding": "identity", **key},
                    verify=context,
                )
                clients.put_nowait(client)
            self._clients = loop, clients
            self._finding_out = asyncio.Lock()
        return self._clients[1]

    async def _call(self, client: httpx.AsyncClient, request: Request) -> Result:
        """Try one request until it is answered or no further try is allowed."""
        call = _Call(request)
        if self.context_tokens is not None:
            self._fit(call, self.context_tokens, tokens_of(request))
        effort = _Effort(self, time.monotonic())
        while True:
            try:
                return self._checked(call, await self._in_form(client, call))
            except Exception as error:  # of the HTTP library, or of the response; `fault_of` classifies it
                fault = fault_of(error, self._key)
                tokens = error.tokens if isinstance(error, InvalidReply) else (0, 0)
            wait = effort.wait_after(fault)
            if wait is None:
                kind = Unreachable if fault.kind == "gone" or fault.unreachable else LlmError
                call.retries += Retries(0, *tokens)
                return kind(f"{self.name}: {fault.text} ({effort.tries})", call.retries)
            call.again(tokens)
            await self._notice.sleep(wait, fault.text)

    async def _in_form(self, client: httpx.AsyncClient, call: _Call) -> ServerReply:
        """The reply to a request in the form that the server takes.

        Raises:
            Refused: it takes none of the forms.
        """
        form = self.form
        try:
            return await self._sent(client, call, form)
        except Refused as error:
            if not self._may_change(call, error):
                raise
            first = error
        async with self._finding_out:  # of the calls in flight, one finds out for all
            if self.form == form:
                return await self._found_out(client, call, form, first)
        call.again()
        return await self._in_form(client, call)

    def _may_change(self, call: _Call, error: Refused) -> bool:
        """Whether another form may be taken: this one was never answered."""
        kind = "text" if call.request.schema is None else "object"
        return fault_of(error).kind == "refused" and kind not in self._known_forms

    async def _found_out(
        self, client: httpx.AsyncClient, call: _Call, form: ServerForm, refusal: Refused
    ) -> ServerReply:
        first, tried = refusal, {form}
        while True:
            changed = form.after(refusal.text, call.request)
            if changed is None or changed in tried:
                raise first
            form = changed
            tried.add(form)
            call.again()
            try:
                reply = await self._sent(client, call, form)
            except Refused as error:
                if fault_of(error).kind != "refused":
                    raise
                refusal = error
                continue
            self.form = replace(form, reasoning_tokens=max(form.reasoning_tokens, self.form.reasoning_tokens))
            return reply

    async def _sent(self, client: httpx.AsyncClient, call: _Call, form: ServerForm) -> ServerReply:
        """The reply to a request in one form; a prompt that is too long is truncated and sent once more, and a reply of
        which reasoning took all tokens is requested once more.

        Raises:
            Refused, InvalidReply, TimeoutError, httpx.HTTPError: there is none.
        """
        try:
            reply = await self._post(client, form.body(self.model, call.request, self.extra_body))
        except Refused as error:
            if not await self._clipped(client, call, error):
                raise
            reply = await self._post(client, form.body(self.model, call.request, self.extra_body))
        self._known_forms.add("text" if call.request.schema is None else "object")
        if not (reply.reasoned and reply.completion.cut) or form.reasoning_tokens >= REASONING_TOKENS:
            return reply
        form = replace(form, reasoning_tokens=REASONING_TOKENS)
        self.form = replace(self.form, reasoning_tokens=REASONING_TOKENS)
        call.again((reply.completion.tokens_in, reply.completion.tokens_out))
        return await self._post(client, form.body(self.model, call.request, self.extra_body))

    async def _post(self, client: httpx.AsyncClient, body: Mapping[str, Any]) -> ServerReply:
        content = json.dumps(body, ensure_ascii=False).encode("utf-8")
        headers = {"Content-Type": "application/json"}
        return reply_of(await self._bytes(client, "POST", "/chat/completions", content=content, headers=headers))

    async def _bytes(self, client: httpx.AsyncClient, method: str, path: str, **more: Any) -> bytes:
        """The body of a successful response; `path` follows the base address."""
        url = urlsplit(self.base_url)
        address = urlunsplit(url._replace(path=url.path.rstrip("/") + path, fragment=""))
        async with asyncio.timeout(self.timeout), client.stream(method, address, **more) as response:
            body = await read_limited(response, self.max_answer_bytes)
            self.reached = True
            if not 200 <= response.status_code < 300:
                raise Refused(response.status_code, body, response.headers)
            return body

    async def _clipped(self, client: httpx.AsyncClient, call: _Call, error: Refused) -> bool:
        """Truncate the prompt if it exceeds the context; return whether it is to be sent again."""
        overflow = overflow_of(error.answer, error.text)
        if overflow is None or call.clipped:
            return False
        length = overflow.length or self.context_tokens or await self._length(client)
        if length is None:
            return False
        before = call.request
        self._fit(call, length, overflow.prompt or max(length, tokens_of(call.request)))
        call.again()
        return call.request != before

    def _fit(self, call: _Call, length: int, prompt: int) -> None:
        """Truncate a prompt of `prompt` tokens if prompt and reply exceed the context."""
        if prompt + call.request.max_tokens > length:
            short = fitted(call.request, length, prompt)
            call.clipped = short.messages != call.request.messages
            call.request = short

    async def _length(self, client: httpx.AsyncClient) -> int | None:
        """The context length that the server tells, asked once."""
        if not self._asked_length:
            self._asked_length = True
            for path in ("/models", "/../props"):  # llama.cpp's settings are beside /v1
                with suppress(Exception):  # an old server, or another answer: the length stays unknown
                    self._told_length = length_of(json.loads(await self._bytes(client, "GET", path)), self.model)
                if self._told_length is not None:
                    break
        return self._told_length

    def _checked(self, call: _Call, reply: ServerReply) -> Result:
        """The completion, or an error without another try if the server does not support log-probabilities."""
        text = without_whole_key(reply.completion.text, self._key)
        found = replace(reply.completion, text=text, clipped=call.clipped, retries=call.retries)
        if call.request.top_logprobs and not found.first:
            missing = f"no log-probabilities for the first token of step {call.request.step}"
            return LlmError(f"{self.name}: the server returns {missing}", call.retries)
        return found if call.request.top_logprobs else replace(found, first=())
