"""Forms of a request that servers differ in. The form that a server takes is found out from its refusals."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal

from bgr.llm.interface import Message, Request
from bgr.llm.prompts import Prompts

prompt = Prompts("bgr.llm.backends")

REASONING_TOKENS = 4_096
"""Tokens that are added to the limit of a reply once a model has used up the limit by reasoning."""

SchemaForm = Literal["json_schema", "json_object", "plain"]
_NEXT: dict[SchemaForm, SchemaForm] = {"json_schema": "json_object", "json_object": "plain"}

Limit = Literal["max_tokens", "max_completion_tokens"]


@dataclass(frozen=True)
class ServerForm:
    """The form of requests that a server takes.

    Args:
        schema: how an object is requested: by its schema; as any object, with the schema in words; or in words alone.
        limit: name of the limit of a reply. OpenAI's newer models take only ``max_completion_tokens``, others only the
            older name.
        temperature, seed: whether they are sent; reasoning models refuse a temperature other than 1.
        reasoning_tokens: tokens for reasoning, in addition to the limit of the request.
    """

    schema: SchemaForm = "json_schema"
    limit: Limit = "max_tokens"
    temperature: bool = True
    seed: bool = True
    reasoning_tokens: int = 0

    def body(self, model: str, request: Request, extra: Mapping[str, Any]) -> dict[str, Any]:
        """The body of a request; `extra` takes precedence."""
        body: dict[str, Any] = {"model": model, "messages": _messages(self._worded(request))}
        body[self.limit] = request.max_tokens + self.reasoning_tokens
        if self.temperature:
            body["temperature"] = request.temperature
        if self.seed:
            body["seed"] = request.seed
        if request.top_logprobs:
            body |= {"logprobs": True, "top_logprobs": request.top_logprobs}
        if request.schema is not None and self.schema == "json_schema":
            schema = {"name": "reply", "schema": request.schema, "strict": fits_strict(request.schema)}
            body["response_format"] = {"type": "json_schema", "json_schema": schema}
        elif request.schema is not None and self.schema == "json_object":
            body["response_format"] = {"type": "json_object"}
        return {**body, **extra}

    def _worded(self, request: Request) -> Request:
        """The request with its schema in words, if the server does not take the schema itself."""
        if request.schema is None or self.schema == "json_schema":
            return request
        *before, last = request.messages
        text = prompt("schema", prompt=last.content, schema=json.dumps(request.schema))
        return replace(request, messages=(*before, Message(last.role, text)))

    def after(self, refusal: str, request: Request) -> ServerForm | None:
        """The next form to try after a refusal of the request in this form; ``None`` if there is none. It may have been
        tried before."""
        text = refusal.lower()
        if "max_completion_tokens" in text:
            new = self.limit == "max_completion_tokens"
            return replace(self, limit="max_tokens" if new else "max_completion_tokens")
        if self.temperature and re.search(r"\btemperature\b", text):
            return replace(self, temperature=False)
        if self.seed and re.search(r"\bseed\b", text):
            return replace(self, seed=False)
        if request.schema is not None and self.schema in _NEXT:
            return replace(self, schema=_NEXT[self.schema])
        return None


def _messages(request: Request) -> list[dict[str, str]]:
    return [{"role": message.role, "content": message.content} for message in request.messages]


def fits_strict(schema: Any) -> bool:
    """True if every object of a schema requires all its properties and allows no others (OpenAI's strict mode)."""
    if isinstance(schema, list):
        return all(fits_strict(part) for part in schema)
    if not isinstance(schema, Mapping):
        return True
    if schema.get("type") == "object":
        names = set(schema.get("properties", {}))
        if schema.get("additionalProperties") is not False or set(schema.get("required", ())) != names:
            return False
    return all(fits_strict(part) for part in schema.values())
