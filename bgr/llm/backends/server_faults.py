"""Safety of calls to a server: addresses and keys without leaks, limits on responses, and classification of faults."""

from __future__ import annotations

import email.utils
import os
import random
import re
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
    """The key in an environment variable; an empty string if it is not set.

    Raises:
        BgrError: the key contains characters that are not allowed in an HTTP header (they are not shown).
    """
    key = os.environ.get(variable, "").strip()
    if not (key.isascii() and key.isprintable()):
        problem = "not a valid key: it contains characters that are not allowed in a header"
        raise BgrError(f"environment variable {variable}: {problem}")
    return key


def public_address(url: str) -> str:
    """An address without user name, password and query; BgrError if it is not an HTTP address."""
    try:
        parts = urlsplit(url)
        host = f"{parts.hostname}:{parts.port}" if parts.port else parts.hostname
    except ValueError:
        host = None
    if not host or parts.scheme not in ("http", "https"):
        raise BgrError("base_url: not an address like http://localhost:8000/v1")
    return urlunsplit((parts.scheme, host, parts.path.rstrip("/"), "", ""))


class AnswerTooLong(Exception):
    """A response that exceeds the allowed size."""


class LimitedStream:
    """The blocks of a response; reading more than `limit` bytes raises `AnswerTooLong`."""

    def __init__(self, stream: Any, limit: int) -> None:
        self._stream, self._limit = stream, limit

    async def __aiter__(self) -> AsyncIterator[bytes]:
        read = 0
        async for block in self._stream:
            read += len(block)
            if read > self._limit:
                raise AnswerTooLong
            yield block

    async def aclose(self) -> None:
        await self._stream.aclose()


def limit_answers(limit: int) -> Callable[[Any], Awaitable[None]]:
    """A response hook for an HTTP client that limits the bytes of each response, so that a faulty server cannot fill
    the memory. It covers errors too, whose bodies the openai client reads completely."""

    async def hook(response: Any) -> None:
        # the client's stream type comes from httpx or from httpx2, whichever this version of openai uses
        base = sys.modules[type(response).__module__.partition(".")[0]].AsyncByteStream
        response.stream = type("LimitedResponse", (LimitedStream, base), {})(response.stream, limit)

    return hook


PART = 4
"""Number of characters of a key that are not shown in a row."""

MAX_WAIT = 60.0
"""Maximum seconds between two tries; if a server asks for more, there is no further try."""

_AGAIN = {408, 409, 425, 429}
_SHARED = {401, 403, 404, 429, 502, 503, 504}


@dataclass(frozen=True)
class Fault:
    """A try that failed.

    Args:
        again: true if another try may help.
        shared: true if every other call would fail in the same way.
        wait: seconds that the server asks to wait.
    """

    text: str
    again: bool
    shared: bool = False
    wait: float | None = None


def fault_of(error: Exception, key: str = "") -> Fault:
    """Classify an exception of the client. The key is removed from the text, since some servers repeat it."""
    match error:
        case AnswerTooLong():
            return Fault("a response longer than allowed", again=False)
        case TimeoutError():
            return Fault("no complete response in time", again=True)
        case openai.APIStatusError():
            return _status(error, key)
        case openai.APIConnectionError():
            return Fault(f"cannot be reached: {_text(error.__cause__ or error, key)}", again=True, shared=True)
        case UnicodeEncodeError():
            return Fault("the messages contain a lone surrogate", again=False)
        case DataError():
            return Fault(f"not a valid response: {_text(error, key)}", again=True)
    return Fault(f"the response broke off: {type(error).__name__}: {_text(error, key)}", again=True)


def _status(error: openai.APIStatusError, key: str) -> Fault:
    status = error.status_code
    wait = retry_after(error.response.headers.get("retry-after"))
    again = (status in _AGAIN or status >= 500) and (wait or 0) <= MAX_WAIT
    asks = f" (it asks to wait {wait:,.0f} s)" if wait else ""
    return Fault(f"HTTP {status}{asks}: {_text(error, key)}", again, status in _SHARED, wait)


def _text(error: BaseException, key: str) -> str:
    # the key is removed first, so that no part of it remains if the line is cut
    return one_line(Exception(without_key(str(error) or type(error).__name__, key)))


def without_key(text: str, key: str) -> str:
    """The text with ``***`` for the key and for every part of it of `PART` characters: some servers show its end."""
    hidden: set[int] = set()
    size = min(PART, len(key))
    for start in range(len(text) - size + 1 if size else 0):
        if text[start : start + size] in key:
            hidden.update(range(start, start + size))
    return re.sub("\0+", "***", "".join("\0" if place in hidden else letter for place, letter in enumerate(text)))


def retry_after(header: str | None) -> float | None:
    """Seconds given by a ``Retry-After`` header, which is a number or a date; ``None`` if it is neither."""
    try:
        seconds = float(header or "nan")
    except ValueError:
        try:
            seconds = email.utils.parsedate_to_datetime(str(header)).timestamp() - time.time()
        except (ValueError, TypeError, OverflowError):
            return None
    return max(seconds, 0.0) if seconds == seconds else None


def pause(fault: Fault, tried: int, first: float) -> float:
    """Seconds before the next try: the server's value, else exponential backoff; both with jitter."""
    if fault.wait is not None:
        return fault.wait + random.uniform(0, first)
    return min(first * 2 ** (tried - 1), MAX_WAIT) * random.uniform(0.5, 1.0)
