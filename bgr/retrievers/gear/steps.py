"""Settings, requests and replies of SyncGE and GEAR; the prompts are one file for each step. A reply is untrusted."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, get_args

from bgr.collection.corpus import Passage
from bgr.llm.interface import Message, Request
from bgr.llm.language_model import ParsedReply, Reply, failed, field_of
from bgr.llm.prompts import Prompts
from bgr.llm.structured import TEXT, YES_OR_NO, Schema, list_of, object_of, row_of
from bgr.retrievers.gear.beam import PAPER_BEAM, BeamSettings
from bgr.retrievers.llm_retriever import check_choice, check_minimum, one_line_text, passage_lines
from bgr.utils.json_utils import is_text

prompt = Prompts("bgr.gear")

PART_CHARACTERS = 300
"""Longest part of a fact; a fact with a longer part is dropped."""

TEXT_CHARACTERS = 2000
"""Longest answer, reason or query; longer ones are truncated."""

Score = Literal["mean", "text"]
Link = Literal["dense", "base"]

REASON_SCHEMA = object_of(answerable=YES_OR_NO, answer=TEXT, why=TEXT)
REWRITE_SCHEMA = object_of(query=TEXT)


@dataclass(frozen=True)
class GearSettings:
    """Settings of NaiveGE, SyncGE and GEAR. The defaults are the paper's (arXiv 2412.18431, appendix B) but for `score`
    and `link`, whose defaults encode and index nothing more.

    Args:
        beam: settings of the search over triples.
        passages: passages of the base list in a single step; the paper takes the rank at which recall is measured.
        round_passages: passages of the base list in each round of GEAR, and of the list a gist triple is linked to.
        gist_passages: passages of a round's list that are read into the gist memory. 30 is all of it with the other
            defaults: 10 from the base list, 2 × 10 from the beams.
        rounds: maximum rounds of GEAR (4 for MuSiQue, 2 for HotpotQA and 2WikiMultihopQA).
        rrf_k: constant of the reciprocal rank fusion. The paper names none; 60 is that of Cormack et al. (2009).
        facts: maximum facts of a reply, so that a model that repeats itself stays within `max_tokens`.
        max_tokens: longest reply of any step.
        score: vector of a sequence of triples: the mean of its triples' vectors (``mean``), or that of its text
            (``text``), as in the paper, which encodes up to width × neighbours texts for each question.
        link: search that links facts to triples: vectors (``dense``), or the base search (``base``), as in the paper's
            equations 2 and 10.

    Raises:
        ValueError: a number below 1, or an unknown score or link.
    """

    beam: BeamSettings = PAPER_BEAM
    passages: int = 15
    round_passages: int = 10
    gist_passages: int = 30
    rounds: int = 4
    rrf_k: int = 60
    facts: int = 20
    max_tokens: int = 768
    score: Score = "mean"
    link: Link = "dense"

    def __post_init__(self) -> None:
        check_minimum(self)
        check_choice("score", self.score, get_args(Score))
        check_choice("link", self.link, get_args(Link))


PAPER = GearSettings()


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


def facts_schema(max_count: int) -> Schema:
    """The schema of a reply with at most `max_count` facts."""
    return object_of(facts=list_of(row_of(TEXT, 3), max_count))


def read_request(question: str, passages: Iterable[Passage], settings: GearSettings) -> Request:
    """Equation 1: facts from the base list's passages."""
    text = prompt("read", question=question, passages=passage_lines(passages))
    return _request("read", text, facts_schema(settings.facts), settings)


def gist_request(question: str, passages: Iterable[Passage], known: Sequence[Fact], settings: GearSettings) -> Request:
    """Equation 4: facts from a round's passages, beyond those that are known."""
    facts = {"facts": fact_lines(known)} if known else {}
    text = prompt("gist" if known else "read", question=question, passages=passage_lines(passages), **facts)
    return _request("gist", text, facts_schema(settings.facts), settings)


def reason_request(question: str, known: Sequence[Fact], settings: GearSettings) -> Request:
    """Equation 6: do the facts answer the question?"""
    return _request("reason", prompt("reason", question=question, facts=fact_lines(known)), REASON_SCHEMA, settings)


def rewrite_request(question: str, known: Sequence[Fact], why: str, settings: GearSettings) -> Request:
    """Equation 7: the next query."""
    text = prompt("rewrite", question=question, facts=fact_lines(known), reason=why or "(not said)")
    return _request("rewrite", text, REWRITE_SCHEMA, settings)


def _request(step: str, text: str, schema: Schema, settings: GearSettings) -> Request:
    return Request(f"gear.{step}", (Message("user", text),), schema, settings.max_tokens)


def fact_lines(facts: Sequence[Fact]) -> str:
    """Facts as the model reads them, one on each line."""
    return "\n".join(" | ".join(fact) for fact in facts) or "(none)"


def read_facts(reply: Reply, max_count: int) -> ParsedReply:
    """The first `max_count` facts, each once.

    Facts with fewer than two parts that contain a letter or digit, or with a part that is too long, are left out.
    """
    rows = field_of(reply.value, "facts", list)
    if reply.failure is not None or rows is None:
        return failed(reply, [], "no list of facts")
    return ParsedReply(list(dict.fromkeys(filter(None, map(_fact, rows[:max_count])))), None, reply.usage)


def read_reason(reply: Reply) -> ParsedReply:
    """A `Reason`; not answerable if the step failed."""
    answerable = field_of(reply.value, "answerable", bool)
    if reply.failure is not None or answerable is None:
        return failed(reply, Reason(), "no verdict")
    answer, why = (one_line_text(reply.value.get(name), TEXT_CHARACTERS) for name in ("answer", "why"))
    return ParsedReply(Reason(answerable, answer, why), None, reply.usage)


def read_query(reply: Reply) -> ParsedReply:
    """The next query; empty if the step failed."""
    query = one_line_text(field_of(reply.value, "query", str), TEXT_CHARACTERS)
    if reply.failure is not None or not query:
        return failed(reply, "", "no query")
    return ParsedReply(query, None, reply.usage)


def _fact(row: Any) -> Fact | None:
    if not isinstance(row, list) or len(row) != 3 or not all(map(is_text, row)):
        return None
    if any(len(part) > PART_CHARACTERS for part in row):
        return None
    fact = Fact(*(one_line_text(part, TEXT_CHARACTERS) if any(map(str.isalnum, part)) else "" for part in row))
    return fact if sum(map(bool, fact)) > 1 else None
