"""JSON and texts from untrusted files: parsed with one type of error, and abbreviated for messages."""

from __future__ import annotations

import json
import reprlib
from collections import Counter
from typing import Any

from bgr.errors import DataError

MAX_TEXT = 100_000
"""Maximum number of characters of a fact, a question or a passage; longer ones would fill the memory."""

MAX_SHOWN = 80
"""Maximum number of characters of a value in a message."""

_REPR = reprlib.Repr()
_REPR.maxlevel = 4
_REPR.maxstring = _REPR.maxother = _REPR.maxlong = 4 * MAX_SHOWN
_REPR.maxlist = _REPR.maxtuple = _REPR.maxdict = MAX_SHOWN


class RepeatedKeyError(ValueError):
    """An object has a key twice."""

    def __init__(self, key: str) -> None:
        super().__init__(f"key {repr_short(key)} is repeated in an object")


def parse_json(text: str, where: str, *, lines: bool = False) -> Any:
    """Parse a JSON text; `where` begins a message, which also names the line if `lines` is true.

    Raises:
        DataError: not valid JSON, nested too deeply, a number of thousands of digits, or a key that is repeated in an
            object.
    """
    try:
        return json.loads(text, object_pairs_hook=unique_keys)
    except json.JSONDecodeError as error:
        line = f"line {error.lineno}, " if lines else ""
        raise DataError(f"{where}: not valid JSON at {line}column {error.colno}: {error.msg}") from None
    except (RecursionError, ValueError) as error:
        raise DataError(f"{where}: not valid JSON: {json_problem(error)}") from None


def unique_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """The object with these keys and values, for `json`, which would silently take the last of two equal keys.

    Raises:
        RepeatedKeyError: a key is repeated.
    """
    found = dict(pairs)
    if len(found) < len(pairs):
        counts = Counter(key for key, _ in pairs)
        raise RepeatedKeyError(next(key for key, count in counts.items() if count > 1))
    return found


def json_problem(error: Exception) -> str:
    """The message for an error of the JSON decoder other than a syntax error."""
    if isinstance(error, RepeatedKeyError):
        return str(error)
    return "nested too deeply" if isinstance(error, RecursionError) else "a number of thousands of digits"


def is_text(value: Any) -> bool:
    """True for a string that UTF-8 can encode; JSON may hold half of a surrogate pair."""
    return isinstance(value, str) and (value.isascii() or not any("\ud800" <= c <= "\udfff" for c in value))


def text_problem(text: Any, limit: int = MAX_TEXT) -> str:
    """Why a value is no text that can be read; empty if it is one."""
    if not isinstance(text, str):
        return f"is {repr_short(text)}, allowed: a text"
    if len(text) > limit:
        return f"has {len(text):,} characters, allowed: {limit:,} or fewer; divide it"
    if not is_text(text):
        return f"is {repr_short(text)}, which is not valid UTF-8; allowed: a text"
    return ""


def repr_short(value: Any) -> str:
    """The `repr` of a value for a message, abbreviated if it is long or deep."""
    text = _REPR.repr(value)
    return text if len(text) <= MAX_SHOWN else f"{text[: MAX_SHOWN - 1]}…"


def one_line(error: BaseException) -> str:
    """The message of another library's error on one line, abbreviated if it is long."""
    text = " ".join(str(error).split()) or type(error).__name__
    return text if len(text) <= 4 * MAX_SHOWN else f"{text[: 4 * MAX_SHOWN - 1]}…"
