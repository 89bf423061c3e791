"""Answers by a language model without examples: from the question alone, from facts, or from the graph in words (paper,
Table 5)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol

from bgr.errors import BgrError
from bgr.graph.evidence_graph import EvidenceGraph
from bgr.llm.interface import Message, Request
from bgr.llm.language_model import LanguageModel, Reply, failed, field_of
from bgr.llm.structured import SHORT_ANSWER, SHORT_ANSWER_TOKENS
from bgr.llm.usage import Usage
from bgr.retrievers.llm_graph.prompts import DEFAULT, LlmGraphSettings, clip, graph_words, prompt
from bgr.utils.json_utils import is_text, repr_short

QUESTION, FACTS, GRAPH = WAYS = ("question", "facts", "graph")
"""The input of the model: the question alone; with the facts of the graph, in the order of the candidates; with the
graph in words."""

ANSWER_CHARACTERS = 300
"""Longest answer; longer ones are truncated."""


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
        text: the answer; ``None`` without evidence, or if the reply is unusable.
        failure: one line if the reply is unusable.
        left_out: number of the last facts of the graph that did not fit into the prompt.
    """

    text: str | None
    failure: str | None = None
    usage: Usage = field(default_factory=Usage)
    left_out: int = 0


class LlmAnswerer:
    """One call for each question; a graph without facts is not answerable, as for a reader.

    `way` is one of `WAYS`.

    Raises:
        BgrError: an unknown way.
    """

    def __init__(self, llm: LanguageModel, way: str = GRAPH, settings: LlmGraphSettings = DEFAULT) -> None:
        if way not in WAYS:
            raise BgrError(f"way is {repr_short(way)}, allowed: {', '.join(WAYS)}")
        self.llm, self.way, self.settings = llm, way, settings

    def answer(self, items: Sequence[Item]) -> list[LlmAnswer]:
        """One answer for each item, in order; all calls are one batch and raise what `LanguageModel.ask` does."""
        rows = [row for row, item in enumerate(items) if self.way == QUESTION or item.graph.nodes]
        asked = [self._ask(items[row]) for row in rows]
        replies = self.llm.ask([request for request, _ in asked]) if asked else []
        found = [LlmAnswer(None)] * len(items)
        for row, (_, left_out), reply in zip(rows, asked, replies, strict=True):
            found[row] = _read(reply, left_out)
        return found

    def _ask(self, item: Item) -> tuple[Request, int]:
        """The call, and the number of facts that did not fit."""
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
    answer = field_of(reply.value, "answer", str)
    text = clip(answer, ANSWER_CHARACTERS) if is_text(answer) else ""
    if reply.failure is None and text:
        return LlmAnswer(text, None, reply.usage, left_out)
    read = failed(reply, None, "no answer")
    return LlmAnswer(None, read.failure, read.usage, left_out)
