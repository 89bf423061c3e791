"""Settings, the request and the reply of IRCoT; the prompt is a file. A reply is untrusted."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from bgr.collection.corpus import Passage, split_sentences
from bgr.llm.interface import Message, Request
from bgr.llm.language_model import ParsedReply, Reply, failed
from bgr.llm.prompts import Prompts
from bgr.retrievers.llm_retriever import check_minimum, one_line_text, passage_lines

prompt = Prompts("bgr.ircot")

SENTENCE_CHARACTERS = 1000
"""Longest sentence; longer ones are truncated."""

_NUMBER = re.compile(r"(?:(?:step )?\d+ ?[.):]|[-*•]) +", re.IGNORECASE)
"""How many models begin a step."""

_ANSWER = re.compile(r"\banswer is:?\s*(.*)", re.IGNORECASE)


@dataclass(frozen=True)
class IrcotSettings:
    """Settings of IRCoT; the defaults are the paper's (arXiv 2212.10509, sections 3.1 and 4), whose prompt has
    annotated examples instead of an instruction.

    Args:
        passages: passages of each retrieval, K; the paper chooses it from 2, 4, 6 and 8 for each dataset.
        steps: maximum sentences of reasoning.
        collected: maximum passages that are collected; retrieval ends with them.
        max_tokens: longest reply. Only its first sentence is read.

    Raises:
        ValueError: a number below 1.
    """

    passages: int = 4
    steps: int = 8
    collected: int = 15
    max_tokens: int = 128

    def __post_init__(self) -> None:
        check_minimum(self)


PAPER = IrcotSettings()


def reason_request(
    question: str, passages: Sequence[Passage], steps: Sequence[str], settings: IrcotSettings
) -> Request:
    """The next sentence of the reasoning."""
    text = prompt("reason", question=question, passages=passage_lines(passages), steps="\n".join(steps) or "(none)")
    return Request("ircot.reason", (Message("user", text),), None, settings.max_tokens)


def read_sentence(reply: Reply) -> ParsedReply:
    """The first sentence of the reply on one line; empty if the step failed."""
    text = one_line_text(reply.value, 4 * SENTENCE_CHARACTERS)
    if (number := _NUMBER.match(text)) is not None:
        text = text[number.end() :]
    sentence = next((one for one in split_sentences(text) if any(map(str.isalpha, one))), "")[:SENTENCE_CHARACTERS]
    if reply.failure is not None or not sentence:
        return failed(reply, "", "no sentence")
    return ParsedReply(sentence, None, reply.usage)


def answer_in(sentence: str) -> str | None:
    """The answer of a last sentence ("So the answer is: …"), maybe empty; ``None`` for any other sentence."""
    found = _ANSWER.search(sentence)
    return None if found is None else found[1].strip(" .\"'*")
