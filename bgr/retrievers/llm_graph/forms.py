"""The five ways to ask for an evidence graph: how a graph is written, and how a reply is read.

Numbers of facts in replies: 1, 2, … for the facts in the prompt, 0 or Q for the question. By name:

- ``edges``: ``{"edges": [[0, 2], [2, 5]]}``
- ``chains``, each from the question to a last fact: ``{"chains": [[2, 5], [4, 5]]}``
- ``parents``, the facts before each fact: ``{"facts": [{"fact": 2, "after": []}, {"fact": 5, "after": [2]}]}``
- ``steps`` in plain words, then the edges: ``Edges: Q -> 2, 2 -> 5``
- ``arrows``, a graph in code: ``digraph evidence { Q -> F2; F2 -> F5; }``

Edges that form no valid evidence graph are repaired by deterministic rules (`repair`).
"""

from __future__ import annotations

import json
import re
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import networkx as nx

from bgr.graph.evidence_graph import ROOT, Edge, EvidenceGraph
from bgr.llm.language_model import field_of
from bgr.llm.structured import WHOLE, Schema, list_of, object_of, row_of
from bgr.retrievers.llm_graph.prompts import clip

_NUMBER = re.compile(r"\s*(?:[Qq]|[Ff]?(\d{1,9}))\s*")

FAULTS = ("into_question", "loops", "repeated", "cycles", "beyond", "hung")
"""Edges left out: into the question, from a fact to itself, repeated, closing a cycle with earlier edges, after the
last edge that is read; and facts without an incoming edge, to which the question now leads."""


class Numbers:
    """Converts numbers of the `count` facts of a prompt to indices, and counts numbers that do not exist."""

    def __init__(self, count: int) -> None:
        self.count = count
        self.unknown = 0

    def place(self, value: Any) -> int | None:
        """The fact's index from 0, or `ROOT`; ``None``, which is counted, for any other value."""
        number = _number(value)
        if number is None or not 0 <= number <= self.count:
            self.unknown += 1
            return None
        return number - 1 if number else ROOT

    def edges(self, pairs: Iterable[Sequence[Any]]) -> list[Edge]:
        """The pairs as edges, without those that have an unknown end."""
        places = [(self.place(a), self.place(b)) for a, b in pairs]
        return [(a, b) for a, b in places if a is not None and b is not None]


def _number(value: Any) -> int | None:
    if isinstance(value, str):
        found = _NUMBER.fullmatch(value)
        return None if found is None else int(found[1] or 0)
    if isinstance(value, float) and value.is_integer():
        return int(value)
    return value if isinstance(value, int) and not isinstance(value, bool) else None


class Form(ABC):
    """Base class of the five ways (paper, section 5.1: five prompts, which it does not print).

    `name` is the name of the prompt's file.
    """

    name: str

    def schema(self, edges: int) -> Schema | None:
        """The schema of a reply with at most about `edges` edges; ``None`` for free text."""
        return None

    @abstractmethod
    def write(self, graph: EvidenceGraph, facts: Sequence[str]) -> str:
        """The reply for a graph over facts; `read` gives the same graph."""

    @abstractmethod
    def read(self, value: Any, numbers: Numbers) -> list[Edge] | None:
        """The edges in a reply, in its order, with any fault except unknown facts; ``None`` if it contains no graph.

        The value is an object or a text (`bgr.llm.language_model.Reply`), and untrusted.
        """


def ordered_edges(graph: EvidenceGraph) -> list[Edge]:
    """All edges, grouped by the fact they lead to, facts in the order of reasoning (`EvidenceGraph.order`)."""
    return [(a, b) for b in graph.order() for a in graph.predecessors(b)]


class EdgeForm(Form):
    """A list of pairs. Anything else in the list, and a pair with an unknown fact, is not an edge."""

    name = "edges"

    def schema(self, edges: int) -> Schema:
        return object_of(edges=list_of(row_of(WHOLE, 2), edges))

    def write(self, graph: EvidenceGraph, facts: Sequence[str]) -> str:
        numbers = {ROOT: 0} | {node: node + 1 for node in graph.nodes}
        return json.dumps({"edges": [[numbers[a], numbers[b]] for a, b in ordered_edges(graph)]})

    def read(self, value: Any, numbers: Numbers) -> list[Edge] | None:
        rows = field_of(value, "edges", list)
        return None if rows is None else numbers.edges([row for row in rows if isinstance(row, list) and len(row) == 2])


MAX_BEFORE = 12
"""Maximum facts before a fact."""


class ParentForm(Form):
    """A fact without a known fact before it follows the question."""

    name = "parents"

    def schema(self, edges: int) -> Schema:
        fact = object_of(fact=WHOLE, after=list_of(WHOLE, MAX_BEFORE))
        return object_of(facts=list_of(fact, edges))

    def write(self, graph: EvidenceGraph, facts: Sequence[str]) -> str:
        rows = []
        for node in graph.order():
            before = graph.predecessors(node)
            # the question is only written beside other facts; alone it is implied
            after = [a + 1 for a in before] if set(before) != {ROOT} else []
            rows.append({"fact": node + 1, "after": after})
        return json.dumps({"facts": rows})

    def read(self, value: Any, numbers: Numbers) -> list[Edge] | None:
        rows = field_of(value, "facts", list)
        if rows is None:
            return None
        found: list[Edge] = []
        for row in rows:
            fact = numbers.place(row["fact"]) if isinstance(row, dict) and "fact" in row else None
            if fact is not None:
                places = [numbers.place(one) for one in field_of(row, "after", list) or []]
                found += [(a, fact) for a in places if a is not None] or [(ROOT, fact)]
        return found


LONGEST = 24
"""Maximum facts of a chain: the longest of the paper's graphs (Table 2)."""


class ChainForm(Form):
    """Lists of facts. The question is not written; an unknown fact is skipped, and its neighbors are joined."""

    name = "chains"

    def schema(self, edges: int) -> Schema:
        return object_of(chains=list_of(list_of(WHOLE, LONGEST), edges))

    def write(self, graph: EvidenceGraph, facts: Sequence[str]) -> str:
        return json.dumps({"chains": [[node + 1 for node in chain] for chain in covering_chains(graph)]})

    def read(self, value: Any, numbers: Numbers) -> list[Edge] | None:
        rows = field_of(value, "chains", list)
        if rows is None:
            return None
        found: list[Edge] = []
        for row in rows:
            places = map(numbers.place, row) if isinstance(row, list) else ()
            known = [place for place in places if place is not None]
            start = [] if known[:1] == [ROOT] else [ROOT]
            found += pairwise([*start, *known])
        return found


def covering_chains(graph: EvidenceGraph) -> list[list[int]]:
    """Chains from the question to last facts that together have every edge: at most as many as edges, since the number
    of all paths may be exponential."""
    chains: list[list[int]] = []
    covered: set[Edge] = set()
    for a, b in ordered_edges(graph):
        if (a, b) not in covered:
            path = [a, b]
            while path[0] != ROOT:
                path.insert(0, graph.predecessors(path[0])[0])
            while after := graph.successors(path[-1]):  # along new edges if there are any
                path.append(min(after, key=lambda node: ((path[-1], node) in covered, node)))
            covered |= set(pairwise(path))
            chains.append(path[1:])
    return chains


MAX_READ = 20_000
"""Characters of a reply that are read."""

_ARROW = r"\s{0,9}(?:-{1,2}>|=>|→)\s{0,9}"
_LABEL = r"(?:[Qq]|[Ff]?\d+)"
_AROUND = re.compile(r"[\[\]()\"'`*#]|\bfacts?\s?(?=\d)", re.IGNORECASE)
_QUESTION = re.compile(r"\b(?:the\s)?question\b", re.IGNORECASE)
_RUN = re.compile(rf"(?<![\w.-]){_LABEL}(?:{_ARROW}{_LABEL})+(?!\w)")


def arrows(text: str, numbers: Numbers) -> list[Edge] | None:
    """The edges of all arrows in free text, in order, without those that have an unknown end; ``None`` without arrows.

    Labels may be written in many ways: ``Q -> 2``, ``F2 -> F5;``, ``the question -> [2] -> fact 5``.
    """
    plain = _QUESTION.sub("Q", _AROUND.sub("", text[:MAX_READ]))
    runs = [re.split(_ARROW, run) for run in _RUN.findall(plain)]
    return numbers.edges([pair for run in runs for pair in pairwise(run)]) if runs else None


class ArrowForm(Form):
    """All arrows of the reply are read, wherever they are."""

    name = "arrows"

    def write(self, graph: EvidenceGraph, facts: Sequence[str]) -> str:
        lines = [f"  {'Q' if a == ROOT else f'F{a + 1}'} -> F{b + 1};" for a, b in ordered_edges(graph)]
        return "\n".join(["digraph evidence {", *lines, "}"])

    def read(self, value: Any, numbers: Numbers) -> list[Edge] | None:
        return arrows(value, numbers) if isinstance(value, str) else None


STEP_CHARACTERS = 100
"""Characters of a fact in a step."""

_LAST_LINE = re.compile(r"edges\W{0,4}:", re.IGNORECASE)


class StepForm(Form):
    """The words help the model and are not read: only the text after the last ``Edges:`` counts."""

    name = "steps"

    def write(self, graph: EvidenceGraph, facts: Sequence[str]) -> str:
        lines = []
        for node in graph.order():
            sources = ["the question" if a == ROOT else f"fact {a + 1}" for a in graph.predecessors(node)]
            lines.append(f"From {' and '.join(sources)}, fact {node + 1}: {clip(facts[node], STEP_CHARACTERS)}")
        edges = ", ".join(f"{'Q' if a == ROOT else a + 1} -> {b + 1}" for a, b in ordered_edges(graph))
        return "\n".join([*lines, f"Edges: {edges}"])

    def read(self, value: Any, numbers: Numbers) -> list[Edge] | None:
        parts = _LAST_LINE.split(value) if isinstance(value, str) else []
        return arrows(parts[-1], numbers) if len(parts) > 1 else None


FORMS: Mapping[str, Form] = {
    form.name: form for form in (EdgeForm(), ChainForm(), ParentForm(), StepForm(), ArrowForm())
}


class Repaired(NamedTuple):
    """The graph, and the count of each of `FAULTS`."""

    graph: EvidenceGraph
    faults: dict[str, int]


def repair(edges: Iterable[tuple[int, int]], max_edges: int) -> Repaired:
    """Keep each edge, in the order written, unless it is at fault; then let the question lead to every fact without an
    incoming edge. Since there are no cycles, all facts are then reachable from the question.

    Edges are pairs of indices of facts, or `ROOT`; the first `max_edges` are read.
    """
    faults = dict.fromkeys(FAULTS, 0)
    kept = nx.DiGraph()
    for number, (a, b) in enumerate(edges):
        if fault := "beyond" if number >= max_edges else _fault(a, b, kept):
            faults[fault] += 1
        else:
            kept.add_edge(a, b)
    loose = [node for node, degree in kept.in_degree() if not degree and node != ROOT]
    faults["hung"] = len(loose)
    return Repaired(EvidenceGraph([*kept.edges, *((ROOT, node) for node in loose)]), faults)


def _fault(a: int, b: int, kept: nx.DiGraph) -> str | None:
    if b == ROOT:
        return "into_question"
    if a == b:
        return "loops"
    if kept.has_edge(a, b):
        return "repeated"
    return "cycles" if a in kept and b in kept and nx.has_path(kept, b, a) else None
