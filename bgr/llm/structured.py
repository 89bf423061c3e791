"""Structured replies: JSON schemas for requests, and parsing and repair of replies.

The schemas have the form that every backend accepts: objects require all their properties and allow no others
(`bgr.llm.backends.openai_backend` uses strict mode only for such schemas).

The problems that this module reports are quoted to the model when it is asked again. They are therefore part of prompts
and of the keys of cached replies, and their wording must not change.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any

from bgr.errors import BgrError
from bgr.utils.json_utils import one_line

MAX_REPAIRED = 16_000
"""Maximum length of a reply to repair, in characters: the time of a repair may grow quadratically."""

CUT = "the reply was cut off at its limit of tokens"


def parse_text(text: str) -> tuple[str | None, str | None]:
    """The text without surrounding white space, or its problem."""
    return (text.strip(), None) if text.strip() else (None, "the reply is empty")


def parse_object(text: str, schema: Mapping[str, Any], *, cut: bool = False) -> tuple[Any, str | None]:
    """Parse the object in a reply by its JSON schema.

    If the text is not JSON that satisfies the schema, it is repaired (words and code fences around the object, missing
    quotes and brackets) and parsed again. A reply that was `cut` at its limit of tokens is not repaired: its last text
    may be half a name.

    Returns:
        The object and ``None``, or ``None`` and one line that describes the problem. Strings contain no lone
        surrogates, and numbers are finite.

    Raises:
        BgrError: the schema is invalid.
    """
    check = _checker(json.dumps(schema))
    problem = "the reply is empty"
    for value in _candidates(text, repair=not cut):
        problem = str(value) if isinstance(value, _Unreadable) else check(value)
        if not problem:
            return value, None
    return None, f"{CUT}: {problem}" if cut else problem


class _Unreadable(Exception):
    """The problem of a text without valid JSON."""


def _candidates(text: str, *, repair: bool) -> Iterator[Any]:
    """Possible values of the text, most likely first, with an `_Unreadable` in place of each that has a problem."""
    if not text.strip():
        return
    try:
        yield _plain(json.loads(text))
    except (ValueError, RecursionError) as error:
        yield _Unreadable(f"not valid JSON: {one_line(error)}")
    if not repair:
        return
    if len(text) > MAX_REPAIRED:
        yield _Unreadable(f"not the object wanted, and with {len(text):,} characters too long to be repaired")
        return
    repaired = _repaired(text)
    # several values in one text are returned as a list
    yield from [*(repaired if isinstance(repaired, list) else []), repaired]


def _repaired(text: str) -> Any:
    import json_repair

    try:
        value = _plain(json_repair.loads(text, skip_json_loads=True))
    except Exception as error:  # a third-party parser on untrusted text
        return _Unreadable(f"cannot be repaired: {one_line(error)}")
    return _Unreadable("there is no JSON in the reply") if value == "" else value


def _plain(value: Any) -> Any:
    """The value with question marks for lone surrogates.

    Raises:
        ValueError: a number that is not finite, or of thousands of digits.
        RecursionError: nested too deeply.
    """
    return json.loads(json.dumps(value, ensure_ascii=False, allow_nan=False).encode("utf-8", "replace"))


@lru_cache(maxsize=64)
def _checker(schema: str) -> Any:
    """A function from a value to its problem, or to an empty string if it satisfies the schema."""
    from jsonschema import Draft202012Validator
    from jsonschema.exceptions import SchemaError, best_match

    try:
        Draft202012Validator.check_schema(json.loads(schema))
    except SchemaError as error:
        raise BgrError(f"not a JSON schema: {one_line(ValueError(error.message))}") from None
    validator = Draft202012Validator(json.loads(schema))

    def check(value: Any) -> str:
        try:
            error = best_match(validator.iter_errors(value))
            return "" if error is None else f"{error.json_path}: {one_line(ValueError(error.message))}"
        except RecursionError:
            return "nested too deeply"

    return check


Schema = dict[str, Any]

TEXT: Schema = {"type": "string"}
WHOLE: Schema = {"type": "integer"}
YES_OR_NO: Schema = {"type": "boolean"}


def object_of(**properties: Schema) -> Schema:
    """An object with exactly these properties, generated in this order."""
    names = list(properties)
    return {"type": "object", "properties": properties, "required": names, "additionalProperties": False}


def list_of(items: Schema, maximum: int, *, minimum: int = 0) -> Schema:
    """A list of `minimum` to `maximum` such items."""
    at_least = {"minItems": minimum} if minimum else {}
    return {"type": "array", "items": items, **at_least, "maxItems": maximum}


def row_of(item: Schema, length: int) -> Schema:
    """A list of exactly `length` such items."""
    return list_of(item, length, minimum=length)


SHORT_ANSWER = object_of(answer=TEXT)
SHORT_ANSWER_TOKENS = 64
"""Maximum length of a reply with a short answer."""
