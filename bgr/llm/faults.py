"""What goes wrong between here and a server, and what to do about it."""

from __future__ import annotations

import email.utils
import random
import time
from dataclasses import dataclass

import openai

from bgr.errors import DataError
from bgr.json_text import one_line
from bgr.llm.answer_limit import AnswerTooLong

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
