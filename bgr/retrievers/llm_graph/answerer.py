"""Answers by a language model that saw no examples: with the question alone, with facts, with the graph in words
(paper, Table 5)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from bgr.errors import BgrError
from bgr.graph.evidence_graph import EvidenceGraph
from bgr.llm.interface import Message, Request
from bgr.llm.language_model import LanguageModel, Reply
from bgr.llm.structured import SHORT_ANSWER, SHORT_ANSWER_TOKENS
from bgr.llm.usage import Usage
from bgr.retrievers.llm_graph.llm_graph_settings import DEFAULT, LlmGraphSettings
from bgr.retrievers.llm_graph.prompts import clip, graph_words, prompt
from bgr.utils.json_utils import is_text, shown

QUESTION, FACTS, GRAPH = WAYS = ("question", "facts", "graph")
"""The input of the model: the question alone; the facts of the graph besides, in the order of the candidates; the graph
in words besides."""

ANSWER_CHARACTERS = 300
"""Longest answer; longer ones are cut."""


class Item(Protocol):
    """A question, its candidate facts, and the evidence graph over them; `bgr.reader.reader.ReaderInput` is one."""

    @property
    def question(self) -> str: ...

    @property
    def facts(self) -> Sequence[str]: ...

    @property
    def graph(self) -> EvidenceGraph: ...


@dataclass(frozen=True)
class LlmAnswer:
    """An answer of the model.

    Args:
        text: the answer; ``None`` where there is no evidence, or the reply cannot be used.
        failure: one line where the reply cannot be used.
        usage: of the call.
        left_out: facts of the graph for which the prompt had no room: the last ones.
    """

    text: str | None
    failure: str | None = None
    usage: Usage = field(default_factory=Usage)
    left_out: int = 0


class LlmAnswerer:
    """One call a question, none for a graph without facts: as for a reader, it is not answerable.

    Args:
        llm: is asked.
        way: one of `WAYS`.
        settings: how long prompts and facts may be.

    Raises:
        BgrError: another way.
    """

    def __init__(self, llm: LanguageModel, way: str = GRAPH, settings: LlmGraphSettings = DEFAULT) -> None:
        if way not in WAYS:
            raise BgrError(f"way is {shown(way)}, allowed: {', '.join(WAYS)}")
        self.llm, self.way, self.settings = llm, way, settings

    def answer(self, items: Sequence[Item]) -> list[LlmAnswer]:
        """One answer for each item, in order; all calls are one batch.

        Raises:
            BgrError: see `LanguageModel.ask`.
        """
        rows = [row for row, item in enumerate(items) if self.way == QUESTION or item.graph.nodes]
        asked = [self._ask(items[row]) for row in rows]
        replies = self.llm.ask([request for request, _ in asked]) if asked else []
        found = [LlmAnswer(None)] * len(items)
        for row, (_, left_out), reply in zip(rows, asked, replies, strict=True):
            found[row] = _read(reply, left_out)
        return found

    def _ask(self, item: Item) -> tuple[Request, int]:
        """The call, and how many facts had no room."""
        question = clip(item.question, self.settings.fact_characters)
        lines = [] if self.way == QUESTION else self._evidence(item)
        room = self.settings.characters - len(self._prompt(question, ""))
        kept: list[str] = []
        for line in lines:
            room -= len(line) + 1
            if room < 0:
                break
            kept.append(line)
        text = self._prompt(question, "\n".join(kept))
        request = Request(f"llm_answer.{self.way}", (Message("user", text),), SHORT_ANSWER, SHORT_ANSWER_TOKENS)
        return request, len(lines) - len(kept)

    def _evidence(self, item: Item) -> list[str]:
        facts = {node: clip(item.facts[node], self.settings.fact_characters) for node in item.graph.nodes}
        if self.way == FACTS:
            return [f"- {fact}" for fact in facts.values()]
        return graph_words([facts.get(place, "") for place in range(len(item.facts))], item.graph)

    def _prompt(self, question: str, evidence: str) -> str:
        return prompt(f"answer_{self.way}", question=question, evidence=evidence)


def _read(reply: Reply, left_out: int) -> LlmAnswer:
    """The answer; a reply is untrusted."""
    said: Any = reply.value.get("answer") if reply.failure is None and isinstance(reply.value, dict) else None
    text = clip(said, ANSWER_CHARACTERS) if is_text(said) else ""
    if text:
        return LlmAnswer(text, None, reply.usage, left_out)
    if reply.failure is not None:  # counted already, by who asked
        return LlmAnswer(None, reply.failure, reply.usage, left_out)
    return LlmAnswer(None, "the reply holds no answer", reply.usage + Usage(failed=1), left_out)
