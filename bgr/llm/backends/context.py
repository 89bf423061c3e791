"""Context length of a server, and prompts that exceed it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from bgr.llm.interface import Message, Request

BYTES = 3
"""Bytes of a token, where a server does not say how many tokens a prompt has; a low value for English."""
MARGIN = 16
"""Tokens that the server's chat template may add."""
SAFETY = 0.95
"""Share of the room that a truncated prompt may take, since parts of a prompt differ in bytes per token."""
MARK = "\n[…]\n"
"""It stands for what was taken out."""
HEAD = 0.75
"""Share of the kept text that comes from the beginning: prompts end with the question."""

_TOO_LONG = re.compile(r"context.{0,12}(length|size|window)|prompt is too long|input.{0,20}too long|tokens exceed")
_LENGTH = re.compile(r"(?:context (?:length|size|window)|limit)(?: is| of)?[ (:]*(?:only )?([\d,]+)")
_PROMPT = re.compile(
    r"([\d,]+) in the (?:messages|input|prompt)|([\d,]+) (?:input|prompt) tokens|request \(([\d,]+) tokens"
    r"|resulted in ([\d,]+) tokens|prompt contains (?:at least )?([\d,]+)"
)


@dataclass(frozen=True)
class Overflow:
    """A prompt that exceeds the context, in tokens; ``None`` for what the server does not say."""

    length: int | None
    prompt: int | None


def overflow_of(answer: Any, text: str) -> Overflow | None:
    """The overflow that a refusal reports, in the `answer` (JSON) of llama.cpp or in the `text` of others; else
    ``None``."""
    error = answer.get("error") if isinstance(answer, Mapping) else None
    error = error if isinstance(error, Mapping) else {}
    text = text.lower()
    codes = {str(error.get("code")), str(error.get("type"))}
    if not codes & {"context_length_exceeded", "exceed_context_size_error"} and not _TOO_LONG.search(text):
        return None
    length, prompt = _LENGTH.search(text), _PROMPT.search(text)
    return Overflow(
        _whole(error.get("n_ctx")) or (_digits(length[1]) if length else None),
        _whole(error.get("n_prompt_tokens")) or (_digits(next(filter(None, prompt.groups()))) if prompt else None),
    )


def length_of(answer: Any, model: str) -> int | None:
    """The context length in tokens, in a server's answer to ``GET /models`` (vLLM and others) or llama.cpp's ``GET
    /props``; ``None`` if it does not say."""
    if not isinstance(answer, Mapping):
        return None
    settings = answer.get("default_generation_settings")
    if isinstance(settings, Mapping) and (found := _whole(settings.get("n_ctx"))):
        return found
    rows = answer.get("data")
    models = [row for row in rows if isinstance(row, Mapping)] if isinstance(rows, list) else []
    row = next((row for row in models if row.get("id") == model), models[0] if len(models) == 1 else {})
    meta = row.get("meta")
    meta = meta if isinstance(meta, Mapping) else {}
    names = ("max_model_len", "context_length", "context_window", "max_context_length")
    return next(filter(None, [*(_whole(row.get(name)) for name in names), _whole(meta.get("n_ctx"))]), None)


def tokens_of(request: Request) -> int:
    """Tokens of a prompt, estimated by `BYTES`."""
    return sum(len(message.content.encode("utf-8", "replace")) for message in request.messages) // BYTES


def fitted(request: Request, length: int, prompt: int) -> Request:
    """The request with its longest message truncated, so that prompt and reply fit into the context.

    The reply keeps its limit, as long as that leaves half of the context to the prompt. The text is taken out of the
    middle of the message: it begins with the instructions and the best passages, and ends with the question.

    Args:
        length: tokens of the context.
        prompt: tokens of the prompt.
    """
    room = max(length - request.max_tokens, length // 2) - MARGIN
    limit = max(1, min(request.max_tokens, length - room - MARGIN))
    if prompt <= room:
        return replace(request, max_tokens=limit)
    longest = max(range(len(request.messages)), key=lambda n: len(request.messages[n].content))
    excess = 1 - SAFETY * room / prompt
    total = sum(len(message.content) for message in request.messages)
    message = request.messages[longest]
    text = without_middle(message.content, max(0, len(message.content) - int(total * excess)))
    messages = [*request.messages]
    messages[longest] = Message(message.role, text)
    return replace(request, messages=tuple(messages), max_tokens=limit)


def without_middle(text: str, characters: int) -> str:
    """The first and last lines of a text, about `characters` in all, with `MARK` between them."""
    if len(text) <= characters:
        return text
    head = text[: int(characters * HEAD)]
    tail = text[len(text) - (characters - len(head)) :]
    # whole lines, unless that would leave nothing
    head = head.rpartition("\n")[0] or head
    tail = tail.partition("\n")[2] or tail
    return f"{head}{MARK}{tail}"


def _whole(value: Any) -> int | None:
    return value if type(value) is int and 0 < value < 2**40 else None


def _digits(text: str) -> int | None:
    digits = text.replace(",", "")
    return _whole(int(digits)) if digits.isdigit() and len(digits) < 13 else None
