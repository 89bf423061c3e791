"""JSON and texts from files that may hold anything: read with one kind of error, and shown in one line of a message."""

from __future__ import annotations

import json
import reprlib
from typing import Any

from bgr.errors import DataError

MOST_SHOWN = 80
"""Characters of a value in a message."""

_REPR = reprlib.Repr()
_REPR.maxlevel = 4
_REPR.maxstring = _REPR.maxother = _REPR.maxlong = 4 * MOST_SHOWN
_REPR.maxlist = _REPR.maxtuple = _REPR.maxdict = MOST_SHOWN


def parse_json(text: str, where: str, *, lines: bool = False) -> Any:
    """What a JSON text holds.

    Args:
        text: the JSON.
        where: begins the message of an error.
        lines: whether the text has several lines, which messages then number.

    Raises:
        DataError: not valid JSON, nested too deeply, or a number of thousands of digits.
    """
    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        line = f"line {error.lineno}, " if lines else ""
        raise DataError(f"{where}: not valid JSON at {line}column {error.colno}: {error.msg}") from None
    except (RecursionError, ValueError) as error:
        raise DataError(f"{where}: not valid JSON: {json_problem(error)}") from None


def json_problem(error: Exception) -> str:
    """What to say of an error of the JSON decoder that is none of syntax."""
    return "nested too deeply" if isinstance(error, RecursionError) else "a number of thousands of digits"


def is_text(value: Any) -> bool:
    """Whether a value is a string that can be written as UTF-8: JSON may hold half of a surrogate pair."""
    return isinstance(value, str) and (value.isascii() or not any("\ud800" <= c <= "\udfff" for c in value))


def shown(value: Any) -> str:
    """A value as messages show it: as Python writes it, on one line, cut where it is long or deep."""
    text = _REPR.repr(value)
    return text if len(text) <= MOST_SHOWN else f"{text[: MOST_SHOWN - 1]}…"


def one_line(error: Exception) -> str:
    """What another library says of an error, on one line of a length to be read."""
    text = " ".join(str(error).split()) or type(error).__name__
    return text if len(text) <= 4 * MOST_SHOWN else f"{text[: 4 * MOST_SHOWN - 1]}…"
