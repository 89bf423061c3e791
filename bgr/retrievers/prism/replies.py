"""The content of the language model's replies; a reply is untrusted."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from bgr.llm.language_model import ParsedReply, Reply, failed, field_of
from bgr.retrievers.prism.candidates import Candidates, Reference
from bgr.retrievers.prism.evidence import Evidence
from bgr.utils.json_utils import is_text, shown

TEXT_CHARACTERS = 500
"""Longest sub-question or answer; longer ones are cut."""


@dataclass(frozen=True)
class Named:
    """The sentences that a reply names.

    Args:
        references: those that exist, each once, with the number (from 0) of the sub-question it is for, ``None`` where
            the reply says none that exists.
        dropped: what names no sentence there is, as messages show it.
    """

    references: dict[Reference, int | None]
    dropped: tuple[str, ...] = ()


def read_sub_questions(reply: Reply, question: str, most: int) -> ParsedReply:
    """The sub-questions, each once; the question itself where the step failed."""
    rows = field_of(reply.value, "questions", list)
    found = list(dict.fromkeys(filter(None, map(_text, rows or ()))))[:most]
    if reply.failure is not None or not found:
        return failed(reply, [question], "no sub-questions")
    return ParsedReply(found, None, reply.usage)


def read_evidence(reply: Reply, candidates: Candidates, sub_questions: int, most: int) -> ParsedReply:
    """The sentences that a draft or an adder names; none where the step failed.

    Args:
        reply: the reply.
        candidates: the sentences that exist.
        sub_questions: how many.
        most: sentences that count; what the reply names after them does not.
    """
    rows = field_of(reply.value, "evidence", list)
    if reply.failure is not None or rows is None:
        return failed(reply, Named({}), "no list of sentences")
    return ParsedReply(_named(rows[:most], candidates, sub_questions), None, reply.usage)


def read_keep(reply: Reply, candidates: Candidates, evidence: Evidence) -> ParsedReply:
    """The sentences that a selector names. The step also fails if the reply names sentences but none that was chosen
    before. An empty list is valid: nothing is kept."""
    rows = field_of(reply.value, "keep", list)
    if reply.failure is not None or rows is None:
        return failed(reply, Named({}), "no list of sentences")
    named = _named(rows, candidates, 0)
    if rows and not any(one in named.references for one in evidence):
        return failed(reply, named, "no sentence of the evidence")
    return ParsedReply(named, None, reply.usage)


def read_answer(reply: Reply) -> ParsedReply:
    """The answer, or ``None`` where the model says that there is none, or the step failed."""
    answerable = field_of(reply.value, "answerable", bool)
    if reply.failure is not None or answerable is None:
        return failed(reply, None, "no verdict")
    return ParsedReply(_text(reply.value.get("answer")) or None if answerable else None, None, reply.usage)


def _named(rows: Sequence[Any], candidates: Candidates, sub_questions: int) -> Named:
    references: dict[Reference, int | None] = {}
    dropped: list[str] = []
    for row in rows:
        numbers = _numbers(row)
        found = candidates.find(*numbers[:2]) if numbers else None
        if found is None:
            dropped.append(shown(row))
        elif references.get(found) is None:  # the first sub-question that is said counts
            references[found] = numbers[2] - 1 if len(numbers) == 3 and 1 <= numbers[2] <= sub_questions else None
    return Named(references, tuple(dropped))


def _numbers(row: Any) -> list[int]:
    """The numbers of a row, or nothing: JSON may write 1 as 1.0."""
    if not isinstance(row, list) or len(row) not in (2, 3):
        return []
    whole = all(type(one) is int or (isinstance(one, float) and one.is_integer()) for one in row)
    return [int(one) for one in row] if whole else []


def _text(value: Any) -> str:
    """On one line; empty for what is no text."""
    return " ".join(value[:TEXT_CHARACTERS].split()) if is_text(value) else ""
