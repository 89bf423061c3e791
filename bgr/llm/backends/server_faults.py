"""Safety of calls to a server: addresses and keys without leaks, limits on responses, and classification of faults."""

from __future__ import annotations

import email.utils
import json
import os
import random
import re
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal
from urllib.parse import urlsplit, urlunsplit

import httpx

from bgr.errors import BgrError, DataError
from bgr.utils.json_utils import one_line, repr_short


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


PACKED = ("", "identity", "gzip", "deflate")
"""Codings of a response that are read: none was asked for, and others, or several at once, turn some kilobytes into
gigabytes at a stroke, before their size can be limited."""


class AnswerTooLong(Exception):
    """A response that exceeds the allowed size."""


def check_coding(response: httpx.Response) -> None:
    """DataError if a response is not coded as one of `PACKED`."""
    coding = response.headers.get("content-encoding", "").strip().lower()
    if coding not in PACKED:
        raise DataError(f"content-encoding is {repr_short(coding)}, allowed: {', '.join(filter(None, PACKED))}")


async def read_limited(response: httpx.Response, limit: int) -> bytes:
    """The body of a streamed response, also decompressed at most `limit` bytes, so that a faulty server cannot fill the
    memory.

    Raises:
        AnswerTooLong: there are more.
        DataError: it is coded in another way than those of `PACKED`.
    """
    check_coding(response)
    blocks, read = [], 0
    async for block in response.aiter_bytes():
        read += len(block)
        if read > limit:
            raise AnswerTooLong
        blocks.append(block)
    return b"".join(blocks)


class Refused(Exception):
    """A response with an error status. `text` is what the server says, `wait` the seconds that it asks to wait."""

    def __init__(self, status: int, body: bytes, headers: Mapping[str, str]) -> None:
        text = body.decode("utf-8", "replace")
        try:
            self.answer: Any = json.loads(text)
        except (ValueError, RecursionError):
            self.answer = None
        self.text = _said(self.answer) or text
        super().__init__(self.text)
        self.status = status
        self.wait = retry_after(headers.get("retry-after"))
        self.location = headers.get("location", "")


def _said(answer: Any) -> str:
    """The message in the body of an error; an empty string if there is none."""
    error = answer.get("error", answer) if isinstance(answer, dict) else answer
    message = error.get("message") or error.get("detail") if isinstance(error, dict) else error
    if not message:
        return ""
    # some servers name the parameter only here
    param = error.get("param") if isinstance(error, dict) else None
    text = message if isinstance(message, str) else json.dumps(message)
    return f"{text} ({param})" if isinstance(param, str) and param not in text else text


MAX_TEXT = 10_000
"""Maximum length of a server's message that is searched for the key."""

PART = 4
"""Number of characters of a key that are not shown in a row."""

MAX_WORD = 11
"""Maximum number of characters of what is given in place of a key, such as ``EMPTY``."""

MAX_WAIT = 60.0
"""Maximum seconds between two tries, unless the server asks for more."""

Kind = Literal["wait", "retry", "refused", "gone", "final"]

_WAIT = {408, 409, 425, 429}
_GONE = {401, 403, 404}
_FORM = {400, 415, 422, 501}


@dataclass(frozen=True)
class Fault:
    """A try that failed.

    Args:
        kind: ``wait``: over some time, another try will help (an overloaded server). ``retry``: another try may help (a
            broken response). ``refused``: the request may be taken in another form. ``gone``: every other call would
            fail in the same way (a refused key, a wrong address). ``final``: none of these.
        wait: seconds that the server asks to wait.
        unreachable: true if there was no connection.
        timed_out: true if there was no complete response in time.
    """

    text: str
    kind: Kind
    wait: float | None = None
    unreachable: bool = False
    timed_out: bool = False


def fault_of(error: Exception, key: str = "") -> Fault:
    """Classify an exception of a try. The key is removed from the text, since some servers repeat it."""
    match error:
        case AnswerTooLong():
            return Fault("a response longer than allowed", "final")
        case Refused():
            return _status(error, key)
        case httpx.ConnectError() | httpx.ConnectTimeout():
            return Fault(f"cannot be reached: {_text(error, key)}", "wait", unreachable=True)
        case TimeoutError() | httpx.TimeoutException():
            return Fault("no complete response in time", "retry", timed_out=True)
        case UnicodeEncodeError():
            return Fault("the messages contain a lone surrogate", "final")
        case httpx.InvalidURL() | httpx.UnsupportedProtocol():
            return Fault(f"cannot be reached: {_text(error, key)}", "gone")
        case DataError():
            return Fault(f"not a valid response: {_text(error, key)}", "retry")
    return Fault(f"the response broke off: {type(error).__name__}: {_text(error, key)}", "retry")


def _status(error: Refused, key: str) -> Fault:
    status = error.status
    if 300 <= status < 400:
        return Fault(
            f"HTTP {status}: it redirects{without_key(_place(error.location), key)}; redirects are not followed", "gone"
        )
    asks = f" (it asks to wait {error.wait:,.0f} s)" if error.wait else ""
    text = f"HTTP {status}{asks}: {_text(error, key)}"
    if status in _GONE:
        return Fault(text, "gone")
    if status in _FORM:
        return Fault(text, "refused")
    return Fault(text, "wait" if status in _WAIT or status >= 500 else "final", error.wait)


def _place(location: str) -> str:
    """The place of a redirect without what may be secret."""
    try:
        return f" to {public_address(location)}"
    except BgrError:
        return ""


def _text(error: BaseException, key: str) -> str:
    # the key is removed first, so that no part of it remains if the line is cut
    return one_line(Exception(without_key(str(error)[:MAX_TEXT] or type(error).__name__, key)))


def without_key(text: str, key: str) -> str:
    """The text with ``***`` for the key and for every part of it of `PART` characters: some servers show its end."""
    hidden: set[int] = set()
    size = min(PART, len(key))
    for start in range(len(text) - size + 1 if size else 0):
        if text[start : start + size] in key:
            hidden.update(range(start, start + size))
    return re.sub("\0+", "***", "".join("\0" if place in hidden else letter for place, letter in enumerate(text)))


def without_whole_key(text: str, key: str) -> str:
    """The text of a reply, which is kept, with ``***`` for the key. Parts of it may be words, and keys of a few letters
    are none: servers without keys take any."""
    return text.replace(key, "***") if len(key) > MAX_WORD else text


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
    return min(first * 2 ** min(tried - 1, 20), MAX_WAIT) * random.uniform(0.5, 1.0)
