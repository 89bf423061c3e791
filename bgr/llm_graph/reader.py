"""A language model in the place of a trained reader (`bgr.reader.reader.Reader`), for what asks one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from bgr.graph import EvidenceGraph
from bgr.llm.llm import Asks
from bgr.llm.usage import Usage
from bgr.llm_graph.answerer import FACTS, GRAPH, QUESTION, Item, LlmAnswer, LlmAnswerer
from bgr.llm_graph.settings import DEFAULT, LlmGraphSettings


@dataclass(frozen=True)
class LlmReaderSettings:
    """Whether the graph's structure is said in words, as of `bgr.reader.settings.ReaderSettings`."""

    structure: bool = True


@dataclass(frozen=True)
class _Alone:
    """A text that is asked without evidence."""

    question: str
    facts: tuple[str, ...] = ()
    graph: EvidenceGraph = field(default_factory=EvidenceGraph)


class LlmReader:
    """Takes and gives what a `Reader` does, so that `eval.read_answers` and `eval.answered` can ask it.

    Args:
        llm: is asked.
        structure: tell it the graph in words, or only its facts.
        settings: how long prompts and facts may be.
    """

    def __init__(self, llm: Asks, *, structure: bool = True, settings: LlmGraphSettings = DEFAULT) -> None:
        self.settings = LlmReaderSettings(structure)
        self.usage = Usage()
        self._evidence = LlmAnswerer(llm, GRAPH if structure else FACTS, settings)
        self._question = LlmAnswerer(llm, QUESTION, settings)

    def answer(self, items: Sequence[Item], *, batch_size: int = 32, progress: bool = False) -> list[LlmAnswer]:
        """One answer for each item; one without evidence is not answerable. The model's backend makes the batches."""
        return self._counted(self._evidence.answer(items))

    def read(self, texts: Sequence[str], *, batch_size: int = 32, progress: bool = False) -> list[LlmAnswer]:
        """Answers to linearised questions (`bgr.reader.linearise`); evidence in one is part of what is asked."""
        asked = [text.removeprefix("question: ").removesuffix(" evidence:") for text in texts]
        return self._counted(self._question.answer([_Alone(text) for text in asked]))

    def _counted(self, found: list[LlmAnswer]) -> list[LlmAnswer]:
        self.usage = sum((one.usage for one in found), self.usage)
        return found
