"""Settings of evidence graphs and answers by a language model, and facts and graphs as it reads them.

The prompts are one file for each way to ask.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from bgr.graph.evidence_graph import ROOT, EvidenceGraph
from bgr.llm.prompts import Prompts
from bgr.retrievers.llm_retriever import check_minimum

prompt = Prompts("bgr.llm_graph")


@dataclass(frozen=True)
class LlmGraphSettings:
    """Settings of `LlmGraph` and `LlmAnswerer`. The paper gives none of them (section 5.1).

    Args:
        shots: maximum examples in a prompt (`bgr.retrievers.llm_graph.shots`).
        shot_facts: facts of an example besides the gold ones.
        seed: decides the examples and their facts.
        characters: maximum characters of a prompt, of which about four are a token in English. The examples take no
            more than half.
        fact_characters: maximum characters of a fact or a question; longer ones are truncated. At most a quarter of
            `characters`.
        edges: edges that are read from one reply.
        max_tokens: longest reply.

    Raises:
        ValueError: a number that is too small, or facts too long for the prompt.
    """

    shots: int = 4
    shot_facts: int = 4
    seed: int = 0
    characters: int = 12_000
    fact_characters: int = 600
    edges: int = 48
    max_tokens: int = 512

    def __post_init__(self) -> None:
        check_minimum(self, {"shots": 0, "shot_facts": 0, "seed": 0, "characters": 2_000, "fact_characters": 20})
        if self.fact_characters > self.characters // 4:
            raise ValueError(f"fact_characters is {self.fact_characters}; it must be {self.characters // 4} or less")


DEFAULT = LlmGraphSettings()


def clip(text: str, max_characters: int) -> str:
    """The text on one line, truncated."""
    line = " ".join(text.split())
    return line if len(line) <= max_characters else f"{line[: max_characters - 1]}…"


def fact_line(number: int, fact: str, max_characters: int) -> str:
    """A fact with its number, truncated."""
    return f"{number}. {clip(fact, max_characters)}"


def fact_lines(facts: Iterable[str], max_characters: int) -> str:
    """Facts numbered from 1, one on each line."""
    return "\n".join(fact_line(number, fact, max_characters) for number, fact in enumerate(facts, 1))


def graph_words(facts: Sequence[str], graph: EvidenceGraph) -> list[str]:
    """A graph in words (paper, Table 5): one line for each fact, numbered from 1, in topological order.

    Every edge is expressed: *from the question* or *from 1 and 2*, the numbers of earlier lines. The paper's words come
    before it: *Then* if the fact follows from the line before, *On the other hand* if another chain continues.
    """
    number: dict[int, int] = {ROOT: 0}
    lines: list[str] = []
    last = ROOT
    for node in graph.order():
        number[node] = len(number)
        before = sorted(number[a] for a in graph.predecessors(node))
        source = " and ".join(str(n) if n else "the question" for n in before)
        word = "" if not lines else "Then, " if last in graph.predecessors(node) else "On the other hand, "
        text = f"{word}from {source}: {' '.join(facts[node].split())}"
        lines.append(f"{number[node]}. {text[0].upper()}{text[1:]}")
        last = node
    return lines
