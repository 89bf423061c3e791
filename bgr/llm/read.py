"""What a method makes of a reply: every step of every method gives this, and counts its failures alike."""

from __future__ import annotations

from typing import Any, NamedTuple

from bgr.llm.llm import Reply
from bgr.llm.usage import Usage


class Read(NamedTuple):
    """What came of a step: its value, one line if it failed, and the usage with that failure counted."""

    value: Any
    failure: str | None
    usage: Usage


def failed(reply: Reply, value: Any, problem: str) -> Read:
    """A step that failed, with what stands in its place: the reply's own failure, else what the reply holds none of."""
    if reply.failure is not None:  # counted already, by who asked
        return Read(value, reply.failure, reply.usage)
    return Read(value, f"the reply holds {problem}", reply.usage + Usage(failed=1))


def field_of(value: Any, key: str, kind: type) -> Any:
    """A field of an object if it is of that type, else ``None``; a reply may be anything."""
    found = value.get(key) if isinstance(value, dict) else None
    return found if isinstance(found, kind) else None
