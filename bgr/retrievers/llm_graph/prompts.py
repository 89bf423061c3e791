"""A graph in words: its facts in the order of reasoning, each with what it was found from (paper, Table 5).

The prompts: one file for each way to ask, and facts as a model reads them.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from bgr.graph.evidence_graph import ROOT, EvidenceGraph
from bgr.llm.prompts import Prompts

prompt = Prompts("bgr.llm_graph")


def clip(text: str, most: int) -> str:
    """On one line, and cut to so many characters."""
    line = " ".join(text.split())
    return line if len(line) <= most else f"{line[: most - 1]}…"


def too_long(text: str, most: int) -> bool:
    """True where `clip` cuts the text."""
    return len(" ".join(text.split())) > most


def fact_line(number: int, fact: str, most: int) -> str:
    """A fact with its number, cut to `most` characters."""
    return f"{number}. {clip(fact, most)}"


def fact_lines(facts: Iterable[str], most: int) -> str:
    """Facts numbered from 1, one a line."""
    return "\n".join(fact_line(number, fact, most) for number, fact in enumerate(facts, 1))


def graph_words(facts: Sequence[str], graph: EvidenceGraph) -> list[str]:
    """One line for each fact of the graph, numbered from 1, in topological order.

    Every edge is told: *from the question* or *from 1 and 2*, the numbers of earlier lines. The paper's words come
    before it: *Then* where the fact follows from the line before, *On the other hand* where another chain goes on.
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
