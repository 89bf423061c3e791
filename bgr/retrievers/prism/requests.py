"""Requests to the language model, one function for each step.

The prompts of PRISM: one file a step beside this module.

Their examples name passages 71 and 72: a model that copies an example names what seldom exists, and it is seen.
"""

from __future__ import annotations

from collections.abc import Sequence

from bgr.llm.interface import Message, Request
from bgr.llm.prompts import Prompts
from bgr.llm.structured import TEXT, WHOLE, YES_OR_NO, Schema, list_of, object_of, row_of
from bgr.retrievers.prism.candidates import Candidates
from bgr.retrievers.prism.evidence import Evidence
from bgr.retrievers.prism.prism_settings import PrismSettings

prompt = Prompts("bgr.prism")


PAIR_TOKENS = 12
"""Most tokens of the name of a sentence in a reply, with numbers of up to three digits."""

ANSWER_SCHEMA = object_of(answerable=YES_OR_NO, answer=TEXT)


def analyser_schema(most: int) -> Schema:
    """The schema of a reply with at most so many sub-questions."""
    return object_of(questions=list_of(TEXT, most))


def evidence_schema(most: int) -> Schema:
    """The schema of a reply that names at most so many sentences, each with or without what it is for."""
    return object_of(evidence=list_of(list_of(WHOLE, 3, minimum=2), most))


def keep_schema(most: int) -> Schema:
    """The schema of a reply that names at most so many sentences."""
    return object_of(keep=list_of(row_of(WHOLE, 2), most))


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


def _request(step: str, text: str, schema: Schema, longest: int) -> Request:
    return Request(step, (Message("user", text),), schema, longest)


def numbered(sub_questions: Sequence[str]) -> str:
    """Sub-questions as the model reads them, from 1."""
    return "\n".join(f"{number}. {text}" for number, text in enumerate(sub_questions, 1))
