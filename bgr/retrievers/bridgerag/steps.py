"""Settings, and steps 2 and 3: second-hop queries and entities from question and bridge. The prompts are one file for
each step. A reply is untrusted."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, get_args

from bgr.collection.corpus import Passage
from bgr.errors import DataError
from bgr.llm.interface import Message, Request
from bgr.llm.language_model import ParsedReply, Reply, failed, field_of
from bgr.llm.prompts import Prompts
from bgr.llm.structured import TEXT, Schema, list_of, object_of
from bgr.retrievers.llm_retriever import check_minimum
from bgr.utils.json_utils import is_text, parse_json

prompt = Prompts("bgr.bridgerag")

QUERY_CHARACTERS = 500
"""Longest query; longer ones are truncated."""

ENTITY_CHARACTERS = 100
"""Longest entity; longer texts are not entities."""

ENTITY_WORDS = 10
"""Maximum words of an entity, twice the number that is asked for; a whole sentence is not an entity."""

ENTITY_TOKENS = 64
"""Longest reply with two entities."""

ENTITIES_SCHEMA = object_of(e1=TEXT, e2=TEXT)

Condition = Literal["svo", "plain", "full"]
"""Orders of the pool: the paper's conditions A (SVO cosine alone), B (a judge that sees no bridge, ``s(q, c)``) and
C (a judge that sees it, ``s(q, b, c)``)."""


@dataclass(frozen=True)
class BridgeSettings:
    """Settings of BridgeRAG; the defaults are the paper's (arXiv 2604.03384).

    Args:
        first: passages of the first hop's search; the best one is the bridge.
        queries: maximum subject–verb–object queries for the second hop.
        query_passages: passages of the search for each query.
        kept: passages that are kept of all these searches, by best cosine.
        entity_passages: passages of the search for each of the two entities.
        pool: passages that are kept of all searches, by best cosine; all of them are ranked.
        alpha: weight of the SVO cosine's percentile rank against the judge's (0.15 on HotpotQA).
        top: number of ranked passages that are the result in the paper's sense; marked in trace and graph.
        condition: what orders the pool.
        most: highest score of the judge; the lowest is 0. The paper names no scale.
        max_tokens: longest reply of any step.

    Raises:
        ValueError: a count below 1, an `alpha` outside 0 … 1, or an unknown condition.
    """

    first: int = 5
    queries: int = 3
    query_passages: int = 10
    kept: int = 15
    entity_passages: int = 5
    pool: int = 20
    alpha: float = 0.10
    top: int = 5
    condition: Condition = "full"
    most: int = 10
    max_tokens: int = 256

    def __post_init__(self) -> None:
        check_minimum(self, {"alpha": 0})
        if not 0 <= self.alpha <= 1:
            raise ValueError(f"alpha is {self.alpha}, allowed: 0 to 1")
        if self.condition not in get_args(Condition):
            raise ValueError(f"condition is {self.condition!r}, allowed: {', '.join(get_args(Condition))}")


PAPER = BridgeSettings()


class Entities(NamedTuple):
    """The entity that the bridge resolves, and the one of the second hop; empty if it is not named."""

    first: str = ""
    second: str = ""

    @property
    def named(self) -> list[str]:
        """The entities that are not empty, each once."""
        return list(dict.fromkeys(entity for entity in self if entity))


NONE = Entities()
"""No entity named."""


def queries_schema(max_count: int) -> Schema:
    """The schema of a reply with one to `max_count` queries."""
    return object_of(queries=list_of(TEXT, max_count, minimum=1))


def queries_request(question: str, bridge: Passage, settings: BridgeSettings) -> Request:
    """Step 2: the next queries, given the bridge."""
    text = prompt("queries", question=question, bridge=bridge.whole, count=str(settings.queries))
    return Request("bridgerag.queries", (Message("user", text),), queries_schema(settings.queries), settings.max_tokens)


def entities_request(question: str, bridge: Passage, settings: BridgeSettings) -> Request:
    """Step 3: two entities, as an object; the paper has them on one line, ``e1 | e2``."""
    text = prompt("entities", question=question, bridge=bridge.whole)
    tokens = min(ENTITY_TOKENS, settings.max_tokens)
    return Request("bridgerag.entities", (Message("user", text),), ENTITIES_SCHEMA, tokens)


def read_queries(reply: Reply, max_count: int) -> ParsedReply:
    """The first `max_count` queries, each once; none if the step failed."""
    found = (_line(row, QUERY_CHARACTERS) for row in field_of(reply.value, "queries", list) or ())
    queries = list(dict.fromkeys(query for query in found if any(map(str.isalnum, query))))[:max_count]
    return read(reply, queries, bool(queries), [], "no query")


def read_entities(reply: Reply) -> ParsedReply:
    """Two entities, or one (the other is then empty, which is not a failure); none if the step failed. The second does
    not become the first if the first is missing or too long.

    The reply is an object with ``e1`` and ``e2``, a list of two, ``e1 | e2`` on any line of a text (also as a row of a
    table), or a first line that is one short text.
    """
    entities = Entities(*_entities(reply.value))
    return read(reply, entities, bool(entities.named), NONE, "no entity")


def read(reply: Reply, value: Any, valid: bool, otherwise: Any, missing: str) -> ParsedReply:
    """The value if it is valid, else `otherwise`; a failure is counted once."""
    if reply.failure is not None or not valid:
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


def _line(value: Any, max_characters: int) -> str:
    """A text on one line, truncated; empty for any other value."""
    return " ".join(value[: 4 * max_characters].split())[:max_characters] if is_text(value) else ""
