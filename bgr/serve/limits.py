"""Checks before the API: who may ask, how large and how slow a request may be, and the headers of each response.

Plain ASGI, so that a body is counted while it arrives and never held whole beyond its limit.
"""

from __future__ import annotations

import asyncio
import hmac
import ipaddress
import json
from collections.abc import Awaitable, Callable, MutableMapping
from dataclasses import dataclass
from typing import Any

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[MutableMapping[str, Any], Receive, Send], Awaitable[None]]

HEADERS = {
    "content-security-policy": "default-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'; "
    "object-src 'none'",
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
}
"""Of every response. Pages load nothing from elsewhere, and no other page shows or reads ours."""

LOCAL = "localhost, 127.0.0.1, [::1] and other loopback addresses"
"""How a browser reaches a loopback address. Another name that leads to it is an attack (DNS rebinding)."""

BODY_SECONDS = 20.0
"""Time for a request's body to arrive."""

OPEN = ("/v1/health",)
"""Paths of the API that need no token. Those of the page need none either: it asks for the token itself."""


def is_loopback(host: str) -> bool:
    """Whether a host is ``localhost`` or a loopback address."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


@dataclass(frozen=True)
class Refused(Exception):
    """A request that is refused before the API sees it."""

    status: int
    error: str


class Guard:
    """Wraps the API.

    Args:
        app: the API.
        max_bytes: maximum bytes of a body.
        token: token of the clients; empty for none.
        local: whether only names of loopback addresses are allowed as the host.
        body_seconds: time for a body to arrive.
    """

    def __init__(
        self, app: App, *, max_bytes: int, token: str, local: bool, body_seconds: float = BODY_SECONDS
    ) -> None:
        self.app, self.max_bytes, self.token, self.local = app, max_bytes, token.encode(), local
        self.body_seconds = body_seconds

    async def __call__(self, scope: MutableMapping[str, Any], receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            if scope["type"] == "lifespan":
                await self.app(scope, receive, send)
            return  # there are no websockets

        async def sending(message: Message) -> None:
            if message["type"] == "http.response.start":
                present = {name for name, _ in message["headers"]}
                more = [(k.encode(), v.encode()) for k, v in HEADERS.items() if k.encode() not in present]
                message = {**message, "headers": [*message["headers"], *more]}
            await send(message)

        headers = {name.lower(): value for name, value in scope["headers"]}
        try:
            self._check(scope, headers)
            body = await self._body(scope, headers, receive)
        except Refused as refused:
            await _refuse(refused, sending)
            return
        replayed = False

        async def replay() -> Message:
            nonlocal replayed
            if replayed:
                return await receive()  # tells when the client goes away
            replayed = True
            return {"type": "http.request", "body": body, "more_body": False}

        await self.app(scope, replay if body is not None else receive, sending)

    def _check(self, scope: MutableMapping[str, Any], headers: dict[bytes, bytes]) -> None:
        if self.local:
            host = headers.get(b"host", b"").decode("latin-1").lower()
            name = host.rpartition(":")[0] if ":" in host.rpartition("]")[2] else host
            if not is_loopback(name.strip("[]")):
                raise Refused(403, f"the host is {name[:100]!r}, allowed: {LOCAL}")
        path = scope["path"]
        guarded = (path.startswith("/v1/") and path not in OPEN) or path == "/metrics"
        if self.token and guarded:
            scheme, _, given = headers.get(b"authorization", b"").partition(b" ")
            if scheme.lower() != b"bearer" or not hmac.compare_digest(given.strip(), self.token):
                raise Refused(401, "a token is required: Authorization: Bearer TOKEN")

    async def _body(
        self, scope: MutableMapping[str, Any], headers: dict[bytes, bytes], receive: Receive
    ) -> bytes | None:
        """The body of a request that may have one."""
        if scope["method"] != "POST":
            return None  # no other method of the API has a body
        # pages of other origins cannot send this type without asking first, which is never granted
        if headers.get(b"content-type", b"").partition(b";")[0].strip().lower() != b"application/json":
            raise Refused(415, "the content type must be application/json")
        length = headers.get(b"content-length", b"")
        if length.isdigit() and int(length) > self.max_bytes:
            raise Refused(413, f"{int(length):,} bytes, allowed: {self.max_bytes:,}")
        parts, size = [], 0
        try:
            async with asyncio.timeout(self.body_seconds):
                more = True
                while more:
                    message = await receive()
                    if message["type"] == "http.disconnect":
                        raise Refused(400, "the client went away")
                    part = message.get("body", b"")
                    size += len(part)
                    if size > self.max_bytes:
                        raise Refused(413, f"more than {self.max_bytes:,} bytes")
                    parts.append(part)
                    more = message.get("more_body", False)
        except TimeoutError:
            raise Refused(408, f"the body did not arrive within {self.body_seconds:g} s") from None
        return b"".join(parts)


async def _refuse(refused: Refused, send: Send) -> None:
    body = json.dumps({"error": refused.error}).encode()
    headers = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode())]
    if refused.status == 401:
        headers.append((b"www-authenticate", b"Bearer"))
    if refused.status in (408, 413):
        headers.append((b"connection", b"close"))  # the rest of the body is not read
    await send({"type": "http.response.start", "status": refused.status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
