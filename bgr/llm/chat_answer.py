"""OpenAI's chat protocol, as far as it is needed: what an answer holds, and which schemas it holds a model to."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from bgr.errors import DataError
from bgr.json_text import parse_json, shown
from bgr.llm.interface import Alternatives, Completion


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
    cut = choice.get("finish_reason") == "length"
    return Completion(text or "", *_counts(answer.get("usage")), cut, _first(choice.get("logprobs")))


def _first(logprobs: Any) -> Alternatives:
    """The likeliest first tokens; empty where the server gives none that can be read."""
    content = logprobs.get("content") if isinstance(logprobs, Mapping) else None
    token = content[0] if isinstance(content, list) and content else None
    rows = token.get("top_logprobs") if isinstance(token, Mapping) else None
    found = _alternatives(rows) if isinstance(rows, list) else ()
    return tuple(sorted(found, key=lambda pair: -pair[1]))


def _alternatives(rows: list[Any]) -> Iterator[tuple[str, float]]:
    for row in rows:
        row = row if isinstance(row, Mapping) else {}
        text, value = row.get("token"), row.get("logprob")
        if isinstance(text, str) and isinstance(value, int | float) and -1e6 < value < 1e6:
            yield text.encode("utf-8", "replace").decode(), min(float(value), 0.0)


def _counts(usage: Any) -> tuple[int, int]:
    """Tokens read and written; none of both, not counted, where the server does not give two numbers that can be."""
    usage = usage if isinstance(usage, Mapping) else {}
    read, written = usage.get("prompt_tokens"), usage.get("completion_tokens")
    return (read, written) if all(type(n) is int and 0 <= n < 2**63 for n in (read, written)) else (0, 0)


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
