"""JSON schemas that replies are held to, in the form that every backend takes: objects are closed and lack nothing
(`bgr.llm.backends.openai_backend` tells a server to be strict about such alone).

Objects out of what a model wrote, whatever it wrote.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any

from bgr.errors import BgrError
from bgr.utils.json_utils import one_line

MOST_REPAIRED = 16_000
"""Characters of a reply that is repaired: the time of a repair may grow with the square of the length."""


def parse_text(text: str) -> tuple[str | None, str | None]:
    """The text without white space at its ends, or what is wrong with it."""
    return (text.strip(), None) if text.strip() else (None, "the reply is empty")


def parse_object(text: str, schema: Mapping[str, Any]) -> tuple[Any, str | None]:
    """The object that a reply holds.

    The text is read as JSON; where it is none that fits, it is repaired (words and code fences around the object,
    missing quotes and brackets), and read again: a reply that was cut off may so lose its end.

    Args:
        text: any string at all.
        schema: JSON schema of the object.

    Returns:
        The object and ``None``, or ``None`` and one line that says what is wrong. Strings hold no half of a surrogate
        pair, numbers are finite.

    Raises:
        BgrError: the schema is none.
    """
    check = _checker(json.dumps(schema))
    problem = "the reply is empty"
    for value in _readings(text):
        problem = str(value) if isinstance(value, _Unreadable) else check(value)
        if not problem:
            return value, None
    return None, problem


class _Unreadable(Exception):
    """What is wrong with a text that holds no JSON."""


def _readings(text: str) -> Iterator[Any]:
    """What the text may mean, the likeliest first; what kept it from meaning anything is one of them."""
    if not text.strip():
        return
    try:
        yield _plain(json.loads(text))
    except (ValueError, RecursionError) as error:
        yield _Unreadable(f"not valid JSON: {one_line(error)}")
    if len(text) > MOST_REPAIRED:
        yield _Unreadable(f"not the object wanted, and with {len(text):,} characters too long to be repaired")
        return
    repaired = _repaired(text)
    # several values in one text come as a list of them
    yield from [*(repaired if isinstance(repaired, list) else []), repaired]


def _repaired(text: str) -> Any:
    import json_repair

    try:
        value = _plain(json_repair.loads(text, skip_json_loads=True))
    except Exception as error:  # another library's parser, and a text that nobody has checked
        return _Unreadable(f"cannot be repaired: {one_line(error)}")
    return _Unreadable("there is no JSON in the reply") if value == "" else value


def _plain(value: Any) -> Any:
    """The value as JSON can write it: half surrogate pairs become question marks.

    Raises:
        ValueError: a number that is not finite, or of thousands of digits.
        RecursionError: nested too deeply.
    """
    return json.loads(json.dumps(value, ensure_ascii=False, allow_nan=False).encode("utf-8", "replace"))


@lru_cache(maxsize=64)
def _checker(schema: str) -> Any:
    """A function from a value to what is wrong with it, an empty string where nothing is."""
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
    """An object with these properties, all of them and no other; it is written in their order."""
    names = list(properties)
    return {"type": "object", "properties": properties, "required": names, "additionalProperties": False}


def list_of(items: Schema, most: int, *, least: int = 0) -> Schema:
    """A list of `least` to `most` such items."""
    at_least = {"minItems": least} if least else {}
    return {"type": "array", "items": items, **at_least, "maxItems": most}


def row_of(item: Schema, length: int) -> Schema:
    """A list of exactly so many such items."""
    return list_of(item, length, least=length)


SHORT_ANSWER = object_of(answer=TEXT)
SHORT_ANSWER_TOKENS = 64
"""Longest reply with a short answer."""
