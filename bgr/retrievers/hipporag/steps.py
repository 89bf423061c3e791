"""Settings, the request and the reply of HippoRAG; the prompt is a file. A reply is untrusted."""

from __future__ import annotations

from dataclasses import dataclass

from bgr.llm.interface import Message, Request
from bgr.llm.language_model import ParsedReply, Reply, failed, field_of
from bgr.llm.prompts import Prompts
from bgr.llm.structured import TEXT, list_of, object_of
from bgr.retrievers.llm_retriever import check_minimum, one_line_text

prompt = Prompts("bgr.hipporag")

ENTITY_CHARACTERS = 200
"""Longest entity; longer texts are not entities."""


@dataclass(frozen=True)
class HippoSettings:
    """Settings of HippoRAG; the defaults are the paper's (arXiv 2405.14831, section 3 and appendix).

    Args:
        entities: maximum entities of a question.
        damping: probability of an edge in each step of the random walk, instead of a new start from the question's
            nodes.
        synonym: cosine of the names above which two nodes have an edge.
        synonyms: maximum edges of this kind from a node, to the nearest ones.
        specificity: whether a question's node has the weight 1 / (number of its passages).
        passages: passages of the result.
        tolerance: the walk ends when the total change of a step is below it.
        max_tokens: longest reply.

    Raises:
        ValueError: a number out of range.
    """

    entities: int = 10
    damping: float = 0.5
    synonym: float = 0.8
    synonyms: int = 100
    specificity: bool = True
    passages: int = 50
    tolerance: float = 1e-9
    max_tokens: int = 256

    def __post_init__(self) -> None:
        check_minimum(self)
        if not 0 < self.damping < 1:
            raise ValueError(f"damping is {self.damping}; allowed: between 0 and 1")
        if not 0 < self.synonym <= 1:
            raise ValueError(f"synonym is {self.synonym}; allowed: above 0, to 1")
        if not self.tolerance > 0:
            raise ValueError(f"tolerance is {self.tolerance}; it must be above 0")


PAPER = HippoSettings()


def entities_request(question: str, settings: HippoSettings) -> Request:
    """The named entities of the question."""
    schema = object_of(entities=list_of(TEXT, settings.entities))
    text = prompt("entities", question=question)
    return Request("hipporag.entities", (Message("user", text),), schema, settings.max_tokens)


def read_entities(reply: Reply, max_count: int) -> ParsedReply:
    """The first `max_count` entities, each once; a question may have none."""
    rows = field_of(reply.value, "entities", list)
    if reply.failure is not None or rows is None:
        return failed(reply, [], "no list of entities")
    names = [one_line_text(row, ENTITY_CHARACTERS + 1) for row in rows]
    valid = [name for name in names if len(name) <= ENTITY_CHARACTERS and any(map(str.isalnum, name))]
    return ParsedReply(list(dict.fromkeys(valid))[:max_count], None, reply.usage)
