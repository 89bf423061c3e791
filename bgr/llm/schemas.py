"""JSON schemas that replies are held to, in the form that every backend takes: objects are closed and lack nothing
(`bgr.llm.chat_answer` tells a server to be strict about such alone)."""

from __future__ import annotations

from typing import Any

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
