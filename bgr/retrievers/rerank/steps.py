"""Settings, requests and replies of rerankers; the prompts are one file for each form. A reply is untrusted."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, get_args

from bgr.collection.corpus import Passage
from bgr.llm.interface import Message, Request
from bgr.llm.language_model import ParsedReply, Reply, failed, field_of
from bgr.llm.prompts import Prompts
from bgr.llm.structured import WHOLE, list_of, object_of
from bgr.retrievers.llm_retriever import check_choice, check_minimum, passage_lines

prompt = Prompts("bgr.rerank")

Form = Literal["list", "set"]

NUMBER_TOKENS = 8
"""Tokens of a number in a reply, at most."""


@dataclass(frozen=True)
class RerankSettings:
    """Settings of the rerankers.

    Args:
        form: ``list`` for a permutation of each window, as RankGPT (Sun et al., 2023, arXiv 2304.09542) and RankZephyr;
            ``set`` for one selection from all passages, as PRISM approximates SetR (its section 3.2).
        passages: passages of the base search that are ranked.
        window: passages of one call of the form ``list``; windows go from the end of the list to its start.
        stride: passages by which the next window is closer to the start.
        top: ranked passages that are the result as a set; with the form ``set`` it has those that were selected.
        max_tokens: longest reply; at least `NUMBER_TOKENS` for each passage of the window.

    Raises:
        ValueError: a number below 1, a stride longer than the window, or an unknown form.
    """

    form: Form = "list"
    passages: int = 20
    window: int = 20
    stride: int = 10
    top: int = 5
    max_tokens: int = 256

    def __post_init__(self) -> None:
        check_minimum(self)
        check_choice("form", self.form, get_args(Form))
        if self.stride > self.window:
            raise ValueError(f"stride is {self.stride}; allowed: up to the window ({self.window})")


PAPER = RerankSettings()


def order_request(question: str, passages: Sequence[Passage], settings: RerankSettings) -> Request:
    """The order of some passages."""
    count = len(passages)
    counted = {"count": str(count)} if settings.form == "list" else {}
    text = prompt(settings.form, question=question, passages=passage_lines(passages), **counted)
    schema = object_of(order=list_of(WHOLE, count, minimum=1))
    return Request(
        f"rerank.{settings.form}", (Message("user", text),), schema, max(settings.max_tokens, NUMBER_TOKENS * count)
    )


def read_order(reply: Reply, count: int) -> ParsedReply:
    """Positions from 0 in the order of the reply, each once; numbers of no passage are left out. Empty if the step
    failed."""
    rows = field_of(reply.value, "order", list) or []
    order = list(dict.fromkeys(row - 1 for row in rows if type(row) is int and 1 <= row <= count))
    if reply.failure is not None or not order:
        return failed(reply, [], "no number of a passage")
    return ParsedReply(order, None, reply.usage)
