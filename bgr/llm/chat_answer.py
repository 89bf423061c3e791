"""OpenAI's chat protocol, as far as it is needed: what an answer holds, and which schemas it holds a model to."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from bgr.errors import DataError
from bgr.json_text import parse_json, shown
from bgr.llm.interface import Completion


def completion_of(body: bytes) -> Completion:
    """The reply in a server's answer.

    Raises:
        DataError: not a chat completion; says what is missing.
    """
    try:
        answer = parse_json(body.decode("utf-8"), "body")
    except UnicodeDecodeError:
        raise DataError("body: not UTF-8 text") from None
    choices = answer.get("choices") if isinstance(answer, dict) else None
    choice = choices[0] if isinstance(choices, list) and choices else None
    message = choice.get("message") if isinstance(choice, dict) else None
    text = message.get("content", "") if isinstance(message, dict) else None
    if not isinstance(choice, dict) or not isinstance(message, dict) or not isinstance(text, str | None):
        raise DataError(f"body: no choices[0].message.content in {shown(answer)}")
    usage = answer.get("usage")
    usage = usage if isinstance(usage, Mapping) else {}
    cut = choice.get("finish_reason") == "length"
    return Completion(text or "", _count(usage, "prompt_tokens"), _count(usage, "completion_tokens"), cut)


def _count(usage: Mapping[str, Any], name: str) -> int:
    """A number of tokens; 0 where the server gives none that can be one."""
    value = usage.get(name)
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**63 else 0


def fits_strict(schema: Any) -> bool:
    """Whether a schema meets the rules under which OpenAI holds a model to it: every object names all its properties
    as required and allows no others."""
    if isinstance(schema, list):
        return all(fits_strict(part) for part in schema)
    if not isinstance(schema, Mapping):
        return True
    if schema.get("type") == "object":
        names = set(schema.get("properties", {}))
        if schema.get("additionalProperties") is not False or set(schema.get("required", ())) != names:
            return False
    return all(fits_strict(part) for part in schema.values())
