"""Requests and replies of each step of SyncGE and GEAR; the prompts are one file a step. A reply is untrusted."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from bgr.collection.corpus import Passage
from bgr.llm.interface import Message, Request
from bgr.llm.language_model import ParsedReply, Reply, failed, field_of
from bgr.llm.prompts import Prompts
from bgr.llm.structured import TEXT, YES_OR_NO, Schema, list_of, object_of, row_of
from bgr.retrievers.gear.gear_settings import GearSettings
from bgr.utils.json_utils import is_text

prompt = Prompts("bgr.gear")


def passage_lines(passages: Iterable[Passage]) -> str:
    """Numbered passages as the model reads them."""
    return "\n\n".join(f"[{number}] {passage.whole}" for number, passage in enumerate(passages, start=1))


PART_CHARACTERS = 300
"""Longest part of a fact; a fact with a longer part is dropped."""

TEXT_CHARACTERS = 2000
"""Longest answer, reason or query; longer ones are cut."""

REASON_SCHEMA = object_of(answerable=YES_OR_NO, answer=TEXT, why=TEXT)
REWRITE_SCHEMA = object_of(query=TEXT)


class Fact(NamedTuple):
    """A proximal triple: what the model read, not a triple of the index."""

    subject: str
    predicate: str
    object: str

    @property
    def text(self) -> str:
        """The fact as a query, in the form of an index triple's text."""
        return " ".join(part for part in self if part)


@dataclass(frozen=True)
class Reason:
    """A verdict on the facts: the answer, or the reason why they do not answer the question."""

    answerable: bool = False
    answer: str = ""
    why: str = ""


def facts_schema(most: int) -> Schema:
    """The schema of a reply with at most so many facts."""
    return object_of(facts=list_of(row_of(TEXT, 3), most))


def read_request(question: str, passages: Iterable[Passage], settings: GearSettings) -> Request:
    """Equation 1: facts from the base list's passages."""
    text = prompt("read", question=question, passages=passage_lines(passages))
    return _request("gear.read", text, facts_schema(settings.facts), settings)


def gist_request(question: str, passages: Iterable[Passage], known: Sequence[Fact], settings: GearSettings) -> Request:
    """Equation 4: facts from a round's passages, beyond those that are known."""
    if not known:
        text = prompt("read", question=question, passages=passage_lines(passages))
    else:
        text = prompt("gist", question=question, passages=passage_lines(passages), facts=fact_lines(known))
    return _request("gear.gist", text, facts_schema(settings.facts), settings)


def reason_request(question: str, known: Sequence[Fact], settings: GearSettings) -> Request:
    """Equation 6: do the facts answer the question?"""
    return _request(
        "gear.reason", prompt("reason", question=question, facts=fact_lines(known)), REASON_SCHEMA, settings
    )


def rewrite_request(question: str, known: Sequence[Fact], why: str, settings: GearSettings) -> Request:
    """Equation 7: the next query."""
    text = prompt("rewrite", question=question, facts=fact_lines(known), reason=why or "(not said)")
    return _request("gear.rewrite", text, REWRITE_SCHEMA, settings)


def _request(step: str, text: str, schema: dict[str, Any], settings: GearSettings) -> Request:
    return Request(step, (Message("user", text),), schema, settings.max_tokens)


def fact_lines(facts: Sequence[Fact]) -> str:
    """Facts as the model reads them, one a line."""
    return "\n".join(" | ".join(fact) for fact in facts) or "(none)"


def read_facts(reply: Reply, most: int) -> ParsedReply:
    """A list of facts, each once.

    Left out are facts with fewer than two parts that hold a letter or digit, and those with a part beyond all measure.
    """
    rows = field_of(reply.value, "facts", list)
    if reply.failure is not None or rows is None:
        return failed(reply, [], "no list of facts")
    facts = (_fact(row) for row in rows[:most])
    return ParsedReply(list(dict.fromkeys(fact for fact in facts if fact)), None, reply.usage)


def read_reason(reply: Reply) -> ParsedReply:
    """A `Reason`; not answerable where the step failed."""
    answerable = field_of(reply.value, "answerable", bool)
    if reply.failure is not None or answerable is None:
        return failed(reply, Reason(), "no verdict")
    answer, why = _text(reply.value.get("answer")), _text(reply.value.get("why"))
    return ParsedReply(Reason(answerable, answer, why), None, reply.usage)


def read_query(reply: Reply) -> ParsedReply:
    """The next query; empty where the step failed."""
    query = _text(field_of(reply.value, "query", str))
    if reply.failure is not None or not query:
        return failed(reply, "", "no query")
    return ParsedReply(query, None, reply.usage)


def _text(value: Any) -> str:
    """The text on one line; empty for any other value."""
    return " ".join(value[:TEXT_CHARACTERS].split()) if is_text(value) else ""


def _fact(row: Any) -> Fact | None:
    if not isinstance(row, list) or len(row) != 3 or not all(map(is_text, row)):
        return None
    if any(len(part) > PART_CHARACTERS for part in row):
        return None
    fact = Fact(*(_text(part) if any(map(str.isalnum, part)) else "" for part in row))
    return fact if sum(map(bool, fact)) > 1 else None
