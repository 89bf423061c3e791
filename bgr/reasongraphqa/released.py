"""The JSON in which the paper's authors released ReasonGraphQA, read and written.

A list of ``{question, answer, program, fact: [sentence], order_true_fact: [{facts: sentence, relation: {before:
[sentence], after: [sentence]}}]}``. An edge leads from ``facts`` to each ``after``; a node with an empty ``before``
hangs from the question. Facts are told apart by their sentences, so two things cannot be written: equal sentences among
the candidates, and a fact that hangs from the question and from another fact (`lost_edges`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from bgr.errors import BgrError, DataError
from bgr.example import Example
from bgr.files import read_json
from bgr.graph import ROOT, Edge, EvidenceGraph
from bgr.reasongraphqa.grounding import TYPE_OF_FUNCTION

_ALIASES = {"QueryName": "What"}


def read_released(path: str | Path, prefix: str) -> list[Example]:
    """The examples of one released file; ids are `prefix` and the place in the file.

    Raises:
        DataError: not such a file; the message names file and item.
    """
    records = read_json(path)
    if not isinstance(records, list):
        raise DataError(f"{path}: must hold a list of questions, holds {type(records).__name__}")
    return [from_released(record, f"{prefix}-{n:06d}", f"{path}: item {n}") for n, record in enumerate(records)]


def from_released(record: Mapping[str, Any], id: str, where: str) -> Example:
    """One example from a released record.

    Raises:
        DataError: a field is missing, a graph's sentence is no candidate, or the graph breaks a constraint.
    """
    try:
        facts = [str(sentence) for sentence in record["fact"]]
        place = {sentence: number for number, sentence in reversed(list(enumerate(facts)))}
        edges: list[Edge] = []
        for node in record["order_true_fact"]:
            number, relation = place[node["facts"]], node["relation"]
            edges += [(place[before], number) for before in relation["before"]]
            edges += [(number, place[after]) for after in relation["after"]]
            if not relation["before"]:
                edges.append((ROOT, number))
        program = record["program"]
        last = program[-1]["function"]
        return Example(
            id=id,
            question=str(record["question"]),
            facts=tuple(facts),
            graph=EvidenceGraph(edges),
            answer=str(record["answer"]),
            program=tuple(program),
            type=TYPE_OF_FUNCTION[_ALIASES.get(last, last)],
        )
    except KeyError as error:
        raise DataError(f"{where}: neither a field nor a candidate: {error.args[0]!r}") from None
    except (BgrError, TypeError, IndexError, AttributeError) as error:
        raise DataError(f"{where}: {error}") from None


def to_released(example: Example) -> dict[str, Any]:
    """One record in the authors' form; see the module for what it cannot hold.

    Raises:
        DataError: two candidates have one sentence.
    """
    if len(set(example.facts)) != len(example.facts):
        raise DataError(f"sample {example.id!r}: two candidates are equal, which the released form cannot tell apart")

    def sentences(nodes: Sequence[int]) -> list[str]:
        return [example.facts[node] for node in nodes if node != ROOT]

    graph = example.graph
    nodes = [
        {
            "facts": example.facts[node],
            "relation": {
                "before": sentences(graph.predecessors(node)),
                "after": sentences(graph.successors(node)),
            },
        }
        for node in graph.order()
    ]
    return {
        "question": example.question,
        "answer": example.answer,
        "program": [dict(step) for step in example.program],
        "fact": list(example.facts),
        "order_true_fact": nodes,
    }


def lost_edges(example: Example) -> int:
    """How many edges from the question the released form drops: those to facts that hang from another fact too."""
    graph = example.graph
    return sum(ROOT in graph.predecessors(node) and len(graph.predecessors(node)) > 1 for node in graph.nodes)
