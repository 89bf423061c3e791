"""A graph in words: its facts in the order of reasoning, each with what it was found from (paper, Table 5)."""

from __future__ import annotations

from collections.abc import Sequence

from bgr.graph import ROOT, EvidenceGraph


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
