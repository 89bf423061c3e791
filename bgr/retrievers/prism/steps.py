"""Requests and replies of each step; the prompts are one file for each step. A reply is untrusted.

What draft and adder read, the sentences above all, stands first and in one file: a server that keeps what it has read
reads it once for all of them.

The examples in the prompts name passages 71 and 72, so that a model that copies them names sentences that seldom exist,
which is noticed.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from bgr.llm.interface import Message, Request
from bgr.llm.language_model import ParsedReply, Reply, failed, field_of
from bgr.llm.prompts import Prompts
from bgr.llm.structured import TEXT, WHOLE, YES_OR_NO, Schema, list_of, object_of, row_of
from bgr.retrievers.llm_retriever import one_line_text
from bgr.retrievers.prism.evidence import Candidates, Evidence, Reference
from bgr.retrievers.prism.run import Named, PrismSettings, Run
from bgr.utils.json_utils import repr_short

prompt = Prompts("bgr.prism")

PAIR_TOKENS = 12
"""Maximum tokens of the name of a sentence in a reply, with numbers of up to three digits."""

TEXT_CHARACTERS = 500
"""Longest sub-question or answer; longer ones are truncated."""

ANSWER_SCHEMA = object_of(answerable=YES_OR_NO, answer=TEXT)


def analyser_request(question: str, settings: PrismSettings) -> Request:
    """Section 2.1."""
    schema = object_of(questions=list_of(TEXT, settings.sub_questions))
    return _request("analyser", schema, settings.max_tokens, prompt("analyser", question=question))


def draft_request(run: Run, settings: PrismSettings) -> Request:
    """The first evidence (appendix A.5)."""
    return _evidence_request("draft", run, settings)


def adder_request(run: Run, settings: PrismSettings) -> Request:
    """Section 2.3."""
    return _evidence_request("adder", run, settings, evidence=run.candidates.lines(run.evidence))


def _evidence_request(step: str, run: Run, settings: PrismSettings, **values: str) -> Request:
    count = max(1, len(run.sub_questions))
    sentences_of_one = list_of(row_of(WHOLE, 2), max(1, settings.references // count))
    schema = object_of(evidence=list_of(object_of(question=WHOLE, sentences=sentences_of_one), count))
    sentences = prompt(
        "sentences",
        candidates=run.candidates.lines(run.candidates.references),
        question=run.question,
        sub_questions=numbered(run.sub_questions),
    )
    return _request(step, schema, settings.max_tokens, f"{sentences}\n\n{prompt(step, **values)}")


def selector_request(run: Run, settings: PrismSettings) -> Request:
    """Section 2.2. The paper also shows the candidates; as nothing may be added from them, they are left out."""
    most = max(settings.references, len(run.evidence))
    evidence, sub_questions = run.candidates.lines(run.evidence), numbered(run.sub_questions)
    text = prompt("selector", question=run.question, sub_questions=sub_questions, evidence=evidence)
    schema = object_of(keep=list_of(row_of(WHOLE, 2), most))
    max_tokens = max(settings.max_tokens, PAIR_TOKENS * (most + 2))
    return _request("selector", schema, max_tokens, text)


def answer_request(question: str, reading: str, settings: PrismSettings) -> Request:
    """Section 2.5."""
    text = prompt("answer", question=question, evidence=reading)
    return _request("answer", ANSWER_SCHEMA, settings.max_tokens, text)


def _request(step: str, schema: Schema, max_tokens: int, text: str) -> Request:
    return Request(f"prism.{step}", (Message("user", text),), schema, max_tokens)


def numbered(sub_questions: Sequence[str]) -> str:
    """Sub-questions as the model reads them, from 1."""
    return "\n".join(f"{number}. {text}" for number, text in enumerate(sub_questions, 1))


def read_sub_questions(reply: Reply, question: str, max_count: int) -> ParsedReply:
    """The sub-questions, each once; the question itself if the step failed."""
    texts = (one_line_text(row, TEXT_CHARACTERS) for row in field_of(reply.value, "questions", list) or ())
    found = list(dict.fromkeys(filter(None, texts)))[:max_count]
    if reply.failure is not None or not found:
        return failed(reply, [question], "no sub-questions")
    return ParsedReply(found, None, reply.usage)


def read_evidence(reply: Reply, candidates: Candidates, sub_questions: int, max_count: int) -> ParsedReply:
    """The sentences that a draft or an adder names (`Named`), the first `max_count` of them; none if it failed."""
    groups = field_of(reply.value, "evidence", list)
    if reply.failure is not None or groups is None:
        return failed(reply, Named({}), "no list of sentences")
    rows = [
        [*row, _question_of(group)] if isinstance(row, list) else row
        for group in groups
        for row in field_of(group, "sentences", list) or ()
    ]
    return ParsedReply(_named(rows[:max_count], candidates, sub_questions), None, reply.usage)


def _question_of(group: Any) -> int:
    """The number of the sub-question that sentences are named for; 0 for none."""
    number = field_of(group, "question", int | float)
    return 0 if number is None or (isinstance(number, float) and not number.is_integer()) else int(number)


def read_keep(reply: Reply, candidates: Candidates, evidence: Evidence) -> ParsedReply:
    """The sentences that a selector names (`Named`). The step also fails if it names sentences but none of the
    evidence. An empty list is valid: nothing is kept."""
    rows = field_of(reply.value, "keep", list)
    if reply.failure is not None or rows is None:
        return failed(reply, Named({}), "no list of sentences")
    named = _named(rows, candidates, 0)
    if rows and not any(one in named.references for one in evidence):
        return failed(reply, named, "no sentence of the evidence")
    return ParsedReply(named, None, reply.usage)


def read_answer(reply: Reply) -> ParsedReply:
    """The answer; ``None`` if the model says that there is none, or the step failed."""
    answerable = field_of(reply.value, "answerable", bool)
    if reply.failure is not None or answerable is None:
        return failed(reply, None, "no verdict")
    answer = one_line_text(reply.value.get("answer"), TEXT_CHARACTERS) if answerable else ""
    return ParsedReply(answer or None, None, reply.usage)


def _named(rows: Sequence[Any], candidates: Candidates, sub_questions: int) -> Named:
    references: dict[Reference, int | None] = {}
    dropped: list[str] = []
    for row in rows:
        numbers = _numbers(row)
        found = candidates.find(*numbers[:2]) if numbers else None
        if found is None:
            dropped.append(repr_short(row))
        elif references.get(found) is None:  # the first stated sub-question counts
            references[found] = numbers[2] - 1 if len(numbers) == 3 and 1 <= numbers[2] <= sub_questions else None
    return Named(references, tuple(dropped))


def _numbers(row: Any) -> list[int]:
    """The numbers of a row, or nothing: JSON may write 1 as 1.0."""
    if not isinstance(row, list) or len(row) not in (2, 3):
        return []
    whole = all(type(one) is int or (isinstance(one, float) and one.is_integer()) for one in row)
    return [int(one) for one in row] if whole else []
