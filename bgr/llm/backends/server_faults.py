"""What goes wrong between here and a server, and what to do about it.

Where a server is and with which key, without letting either's secrets out.

A limit on the bytes of an HTTP answer, before anything of it is kept: a faulty server must not fill the memory.
"""

from __future__ import annotations

import email.utils
import os
import random
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit, urlunsplit

import openai

from bgr.errors import BgrError, DataError
from bgr.utils.json_utils import one_line


def key_in(variable: str) -> str:
    """The key; an empty string where the variable is not set.

    Raises:
        BgrError: it holds characters that no HTTP header can carry (they are not shown).
    """
    key = os.environ.get(variable, "").strip()
    if not (key.isascii() and key.isprintable()):
        raise BgrError(f"environment variable {variable}: not a key: it holds characters that no header can carry")
    return key


def public_address(url: str) -> str:
    """An address without user name, password and query.

    Raises:
        BgrError: it is none of HTTP.
    """
    try:
        parts = urlsplit(url)
        host = f"{parts.hostname}:{parts.port}" if parts.port else parts.hostname
    except ValueError:
        host = None
    if not host or parts.scheme not in ("http", "https"):
        raise BgrError("base_url: not an address like http://localhost:8000/v1")
    return urlunsplit((parts.scheme, host, parts.path.rstrip("/"), "", ""))


class AnswerTooLong(Exception):
    """An answer of more bytes than are allowed."""


class _Limited:
    """The body of an answer, as it comes over the wire, up to a limit."""

    def __init__(self, stream: Any, most: int) -> None:
        self._stream, self._most = stream, most

    async def __aiter__(self) -> AsyncIterator[bytes]:
        read = 0
        async for block in self._stream:
            read += len(block)
            if read > self._most:
                raise AnswerTooLong
            yield block

    async def aclose(self) -> None:
        await self._stream.aclose()


def limit_answers(most: int) -> Callable[[Any], Awaitable[None]]:
    """A hook for an HTTP client's answers, whatever their status: the openai client reads those of errors whole.

    Args:
        most: bytes of an answer; one that is longer raises `AnswerTooLong` where it is read.
    """

    async def hook(response: Any) -> None:
        # the client's stream type comes from httpx or from httpx2, whichever this version of openai uses
        base = sys.modules[type(response).__module__.partition(".")[0]].AsyncByteStream
        response.stream = type("LimitedStream", (_Limited, base), {})(response.stream, most)

    return hook


async def read_limited(blocks: AsyncIterator[bytes], most: int) -> bytes:
    """All of an answer; the limit holds here too, where blocks have been decompressed.

    Raises:
        AnswerTooLong: more than `most` bytes.
    """
    body = bytearray()
    async for block in blocks:
        body += block
        if len(body) > most:
            raise AnswerTooLong
    return bytes(body)


LONGEST_WAIT = 60.0
"""Seconds between two tries; a server that asks for more is given up."""

_AGAIN = {408, 409, 425, 429}
_SHARED = {401, 403, 404, 429, 502, 503, 504}


@dataclass(frozen=True)
class Fault:
    """A try that failed.

    Args:
        text: what happened.
        again: whether another try may help.
        shared: whether every other call would fail in the same way.
        wait: seconds that the server asks for.
    """

    text: str
    again: bool
    shared: bool = False
    wait: float | None = None


def fault_of(error: Exception, key: str = "") -> Fault:
    """What an exception of the client means.

    Args:
        error: the exception.
        key: of the server, which the text must not hold: some servers repeat it when they refuse it.
    """
    match error:
        case AnswerTooLong():
            return Fault("an answer longer than allowed", again=False)
        case TimeoutError():
            return Fault("no whole answer in time", again=True)
        case openai.APIStatusError():
            return _status(error, key)
        case openai.APIConnectionError():
            return Fault(f"cannot be reached: {_said(error.__cause__ or error, key)}", again=True, shared=True)
        case UnicodeEncodeError():
            return Fault("the messages hold half of a surrogate pair", again=False)
        case DataError():
            return Fault(f"an answer that is none: {_said(error, key)}", again=True)
    return Fault(f"the answer broke off: {type(error).__name__}: {_said(error, key)}", again=True)


def _status(error: openai.APIStatusError, key: str) -> Fault:
    status = error.status_code
    wait = retry_after(error.response.headers.get("retry-after"))
    again = (status in _AGAIN or status >= 500) and (wait or 0) <= LONGEST_WAIT
    asks = f" (it asks to wait {wait:,.0f} s)" if wait else ""
    return Fault(f"HTTP {status}{asks}: {_said(error, key)}", again, status in _SHARED, wait)


def _said(error: BaseException, key: str) -> str:
    """An exception's text on one line; the key goes first, so that none of it is left where the line is cut."""
    text = str(error) or type(error).__name__
    return one_line(Exception(text.replace(key, "***") if key else text))


def retry_after(header: str | None) -> float | None:
    """Seconds that a ``Retry-After`` header asks for, which is a number or a date; ``None`` where it says neither."""
    if header is None:
        return None
    try:
        seconds = float(header)
    except ValueError:
        try:
            seconds = email.utils.parsedate_to_datetime(header).timestamp() - time.time()
        except (ValueError, TypeError, OverflowError):
            return None
    return max(seconds, 0.0) if seconds == seconds else None


def pause(fault: Fault, tried: int, first: float) -> float:
    """Seconds before the next try: what the server asks for, else twice as long each time, with a random part so that
    many callers do not come back at once."""
    if fault.wait is not None:
        return fault.wait + random.uniform(0, first)
    return min(first * 2 ** (tried - 1), LONGEST_WAIT) * random.uniform(0.5, 1.0)
