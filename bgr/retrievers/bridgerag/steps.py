"""Steps 2 and 3: second-hop queries and entities from question and bridge; the prompts are one file a step. A reply is
untrusted."""

from __future__ import annotations

from typing import Any, NamedTuple

from bgr.collection.corpus import Passage
from bgr.errors import DataError
from bgr.llm.interface import Message, Request
from bgr.llm.language_model import ParsedReply, Reply, failed
from bgr.llm.prompts import Prompts
from bgr.llm.structured import TEXT, Schema, list_of, object_of
from bgr.retrievers.bridgerag.bridgerag_settings import BridgeSettings
from bgr.utils.json_utils import is_text, parse_json

prompt = Prompts("bgr.bridgerag")


QUERY_CHARACTERS = 500
"""Longest query; longer ones are cut."""

ENTITY_CHARACTERS = 100
"""Longest entity; longer texts are not entities."""

ENTITY_WORDS = 10
"""Most words of an entity, twice the number that is asked for; a whole sentence is not an entity."""

ENTITY_TOKENS = 64
"""Longest reply with two entities."""

ENTITIES_SCHEMA = object_of(e1=TEXT, e2=TEXT)


class Entities(NamedTuple):
    """The entity that the bridge resolves, and the one of the second hop; empty where it is not named."""

    first: str = ""
    second: str = ""

    @property
    def named(self) -> list[str]:
        """Those that there are, each once."""
        return list(dict.fromkeys(entity for entity in self if entity))


NONE = Entities()
"""No entity named."""


def queries_schema(most: int) -> Schema:
    """The schema of a reply with one to so many queries."""
    return object_of(queries=list_of(TEXT, most, minimum=1))


def queries_request(question: str, bridge: Passage, settings: BridgeSettings) -> Request:
    """Step 2: what to search for next, given the bridge."""
    text = prompt("queries", question=question, bridge=bridge.whole, count=str(settings.queries))
    schema = queries_schema(settings.queries)
    return Request("bridgerag.queries", (Message("user", text),), schema, settings.max_tokens)


def entities_request(question: str, bridge: Passage, settings: BridgeSettings) -> Request:
    """Step 3: two entities, as an object; the paper has them on one line, ``e1 | e2``."""
    text = prompt("entities", question=question, bridge=bridge.whole)
    tokens = min(ENTITY_TOKENS, settings.max_tokens)
    return Request("bridgerag.entities", (Message("user", text),), ENTITIES_SCHEMA, tokens)


def read_queries(reply: Reply, most: int) -> ParsedReply:
    """The first `most` queries, each once; none where the step failed."""
    rows = reply.value.get("queries") if isinstance(reply.value, dict) else None
    found = [_line(row, QUERY_CHARACTERS) for row in rows] if isinstance(rows, list) else []
    queries = list(dict.fromkeys(query for query in found if any(map(str.isalnum, query))))[:most]
    return read(reply, queries, bool(queries), [], "no query")


def read_entities(reply: Reply) -> ParsedReply:
    """Two entities, or one (the other is then empty, which is no failure); none where the step failed. Each keeps its
    place: the second does not become the first where the first is missing or too long.

    The reply is an object with ``e1`` and ``e2``, a list of two, ``e1 | e2`` on any line of a text (also as a row of a
    table), or a first line that is one short text.
    """
    entities = Entities(*_entities(reply.value))
    return read(reply, entities, bool(entities.named), NONE, "no entity")


def read(reply: Reply, value: Any, good: bool, otherwise: Any, missing: str) -> ParsedReply:
    """The value if it is good, else the fall-back; a failure is counted once."""
    if reply.failure is not None or not good:
        return failed(reply, otherwise, missing)
    return ParsedReply(value, None, reply.usage)


def _entities(value: Any) -> tuple[str, str]:
    if is_text(value):
        value = _as_object(value) or _barred(value)
    if isinstance(value, dict):
        value = [value.get("e1"), value.get("e2")]
    first, second, *_ = [*value, "", ""] if isinstance(value, list) else ("", "")
    return _entity(first), _entity(second)


def _as_object(text: str) -> Any:
    try:
        found = parse_json(text, "reply")
    except DataError:
        return None
    return found if isinstance(found, dict | list) else None


def _barred(text: str) -> list[str]:
    """The parts of the first line that has a bar; else the first line, as one part."""
    lines = [line.strip() for line in text.splitlines() if any(map(str.isalnum, line))]
    barred = next((line for line in lines if "|" in line), lines[0] if lines else "")
    row = barred[1:-1] if len(barred) > 1 and barred[0] == barred[-1] == "|" else barred
    return row.split("|")


def _entity(part: Any) -> str:
    name = _line(part, ENTITY_CHARACTERS + 1).strip("`*\"'“” ")
    short = len(name) <= ENTITY_CHARACTERS and len(name.split()) <= ENTITY_WORDS
    return name if short and any(map(str.isalnum, name)) else ""


def _line(value: Any, most: int) -> str:
    """On one line, cut; empty for what is no text."""
    return " ".join(value[: 4 * most].split())[:most] if is_text(value) else ""
