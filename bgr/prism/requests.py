"""What the language model is asked in each step."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from bgr.llm.interface import Message, Request
from bgr.prism.candidates import Candidates
from bgr.prism.evidence import Evidence
from bgr.prism.prompts import prompt
from bgr.prism.settings import PrismSettings

PAIR_TOKENS = 12
"""What the name of a sentence takes in a reply, at most, with numbers of up to three digits."""

_TEXT = {"type": "string"}
_NUMBER = {"type": "integer"}


def _object(**properties: Any) -> dict[str, Any]:
    names = list(properties)
    return {"type": "object", "properties": properties, "required": names, "additionalProperties": False}


ANSWER_SCHEMA = _object(answerable={"type": "boolean"}, answer=_TEXT)


def analyser_schema(most: int) -> dict[str, Any]:
    """Of a reply with at most so many sub-questions."""
    return _object(questions={"type": "array", "items": _TEXT, "maxItems": most})


def evidence_schema(most: int) -> dict[str, Any]:
    """Of a reply that names at most so many sentences, each with or without what it is for."""
    item = {"type": "array", "items": _NUMBER, "minItems": 2, "maxItems": 3}
    return _object(evidence={"type": "array", "items": item, "maxItems": most})


def keep_schema(most: int) -> dict[str, Any]:
    """Of a reply that names at most so many sentences."""
    item = {"type": "array", "items": _NUMBER, "minItems": 2, "maxItems": 2}
    return _object(keep={"type": "array", "items": item, "maxItems": most})


def analyser_request(question: str, settings: PrismSettings) -> Request:
    """Section 2.1."""
    text = prompt("analyser", question=question)
    return _request("prism.analyser", text, analyser_schema(settings.sub_questions), settings.max_tokens)


def draft_request(
    question: str, sub_questions: Sequence[str], candidates: Candidates, settings: PrismSettings
) -> Request:
    """The first evidence (appendix A.5)."""
    lines = candidates.lines(candidates.references)
    text = prompt("draft", question=question, sub_questions=numbered(sub_questions), candidates=lines)
    return _request("prism.draft", text, evidence_schema(settings.references), settings.max_tokens)


def adder_request(
    question: str,
    sub_questions: Sequence[str],
    candidates: Candidates,
    evidence: Evidence,
    settings: PrismSettings,
) -> Request:
    """Section 2.3."""
    text = prompt(
        "adder",
        question=question,
        sub_questions=numbered(sub_questions),
        candidates=candidates.lines(candidates.references),
        evidence=candidates.lines(evidence),
    )
    return _request("prism.adder", text, evidence_schema(settings.references), settings.max_tokens)


def selector_request(
    question: str,
    sub_questions: Sequence[str],
    candidates: Candidates,
    evidence: Evidence,
    settings: PrismSettings,
) -> Request:
    """Section 2.2. The paper shows the candidates besides; as nothing may be added from them, they are left out."""
    values = {"sub_questions": numbered(sub_questions), "evidence": candidates.lines(evidence)}
    text = prompt("selector", question=question, **values)
    most = max(settings.references, len(evidence))
    longest = max(settings.max_tokens, PAIR_TOKENS * (most + 2))
    return _request("prism.selector", text, keep_schema(most), longest)


def answer_request(question: str, reading: str, settings: PrismSettings) -> Request:
    """Section 2.5."""
    text = prompt("answer", question=question, evidence=reading)
    return _request("prism.answer", text, ANSWER_SCHEMA, settings.max_tokens)


def _request(step: str, text: str, schema: dict[str, Any], longest: int) -> Request:
    return Request(step, (Message("user", text),), schema, longest)


def numbered(sub_questions: Sequence[str]) -> str:
    """Sub-questions as the model reads them, from 1."""
    return "\n".join(f"{number}. {text}" for number, text in enumerate(sub_questions, 1))
