"""Replies of a server in OpenAI's chat protocol, read from the body of a response, which is untrusted."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from bgr.errors import DataError
from bgr.llm.interface import Alternatives, Completion
from bgr.utils.json_utils import parse_json, repr_short

THINK, END_THINK = "<think>", "</think>"
"""Marks around the reasoning of a model whose server does not separate it from the reply."""


class InvalidReply(DataError):
    """A body that is no chat completion. `tokens` are those of prompt and reply, which were used nevertheless."""

    def __init__(self, message: str, tokens: tuple[int, int] = (0, 0)) -> None:
        super().__init__(message)
        self.tokens = tokens


@dataclass(frozen=True)
class ServerReply:
    """A completion, and whether the model reasoned before it. The reasoning is not part of the text."""

    completion: Completion
    reasoned: bool


def reply_of(body: bytes) -> ServerReply:
    """The reply in the body of a server's response; InvalidReply says what a chat completion would need."""
    try:
        answer = parse_json(body.decode("utf-8"), "body")
    except UnicodeDecodeError:
        raise InvalidReply("body: not UTF-8 text") from None
    except DataError as error:
        raise InvalidReply(str(error)) from None
    tokens = _counts(answer.get("usage")) if isinstance(answer, dict) else (0, 0)
    choices = answer.get("choices") if isinstance(answer, dict) else None
    choice = choices[0] if isinstance(choices, list) and choices else None
    message = choice.get("message") if isinstance(choice, dict) else None
    text = message.get("content", "") if isinstance(message, dict) else None
    if not isinstance(choice, dict) or not isinstance(message, dict) or not isinstance(text, str | None):
        raise InvalidReply(f"body: no choices[0].message.content in {repr_short(answer)}", tokens)
    cut = choice.get("finish_reason") == "length"
    said = _without_reasoning(text or "")
    # vLLM, llama.cpp and DeepSeek: reasoning_content; newer vLLM, Ollama and routers: reasoning
    reasoned = said != (text or "") or any(message.get(name) for name in ("reasoning_content", "reasoning"))
    reasoned |= _reasoning_tokens(answer.get("usage")) > 0  # OpenAI does not show it
    return ServerReply(Completion(said, *tokens, cut, _first(choice.get("logprobs"))), reasoned)


def _reasoning_tokens(usage: Any) -> int:
    details = usage.get("completion_tokens_details") if isinstance(usage, Mapping) else None
    count = details.get("reasoning_tokens") if isinstance(details, Mapping) else None
    return count if type(count) is int else 0


def _without_reasoning(text: str) -> str:
    """The text after the reasoning; empty if the reasoning does not end. Some templates open it in the prompt."""
    if END_THINK in text:
        return text.rpartition(END_THINK)[2].lstrip()
    return "" if text.lstrip().startswith(THINK) else text


def _first(logprobs: Any) -> Alternatives:
    """The most likely first tokens, without those that the server returns in an invalid form."""
    content = logprobs.get("content") if isinstance(logprobs, Mapping) else None
    token = content[0] if isinstance(content, list) and content else None
    rows = token.get("top_logprobs") if isinstance(token, Mapping) else None
    found = []
    for row in rows if isinstance(rows, list) else ():
        text, value = (row.get("token"), row.get("logprob")) if isinstance(row, Mapping) else (None, None)
        if isinstance(text, str) and isinstance(value, int | float) and -1e6 < value < 1e6:
            found.append((text.encode("utf-8", "replace").decode(), min(float(value), 0.0)))
    return tuple(sorted(found, key=lambda pair: -pair[1]))


def _counts(usage: Any) -> tuple[int, int]:
    """Tokens of prompt and reply; both 0 (not counted) if the server does not return two valid numbers."""
    usage = usage if isinstance(usage, Mapping) else {}
    prompt, reply = usage.get("prompt_tokens"), usage.get("completion_tokens")
    return (prompt, reply) if all(type(n) is int and 0 <= n < 2**63 for n in (prompt, reply)) else (0, 0)
