"""Results by the form of the gold graph (type, structure, hops, chains: paper, Figure 6 and Table 6), and failures by
kind."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import networkx as nx

from bgr.data.example import QUESTION_TYPES, STRUCTURES, Example
from bgr.errors import BgrError
from bgr.graph.evidence_graph import ROOT, EvidenceGraph
from eval.run.evaluate import Evaluation, Row, summarise

GROUPINGS = ("type", "structure", "hops", "chains", "facts")
"""Fields of `Row` to group by."""

FIXED_ORDER: dict[str, Sequence[str]] = {"type": QUESTION_TYPES, "structure": STRUCTURES}


def breakdown(evaluation: Evaluation, by: str) -> dict[str, dict[str, float]]:
    """`summarise` for each value of one grouping that occurs, in the paper's order or by number.

    Raises:
        BgrError: an unknown grouping.
    """
    if by not in GROUPINGS:
        raise BgrError(f"unknown grouping {by!r}, known: {', '.join(GROUPINGS)}")
    return {str(value): summarise(rows) for value, rows in _groups(evaluation.rows, by).items()}


def hops_by_chains(evaluation: Evaluation) -> dict[tuple[int, int], dict[str, float]]:
    """`summarise` for each pair ``(hops, chains)`` that occurs (paper, Table 6)."""
    groups: dict[tuple[int, int], list[Row]] = {}
    for row in evaluation.rows:
        groups.setdefault((row.hops, row.chains), []).append(row)
    return {pair: summarise(groups[pair]) for pair in sorted(groups)}


def _groups(rows: Sequence[Row], by: str) -> dict[str | int, list[Row]]:
    groups: dict[str | int, list[Row]] = {}
    for row in rows:
        groups.setdefault(getattr(row, by), []).append(row)
    order = FIXED_ORDER[by] if by in FIXED_ORDER else sorted(groups)
    return {value: groups[value] for value in order if value in groups}


ERROR_KINDS: Mapping[str, str] = {
    "missed_fact": "a gold fact was not retrieved",
    "extra_fact": "all gold facts were retrieved, and another one",
    "wrong_direction": "the facts are right; one follows a fact that it leads to",
    "wrong_chain": "the facts are right; one follows a fact that no chain has together with it",
    "wrong_edge": "the facts are right; other edges are missing or too many",
    "reader": "the graph is right, the answer is not",
}
"""The meaning of each kind, in order of precedence: a failure counts under the first kind that holds."""


@dataclass(frozen=True)
class ErrorCounts:
    """The failures of one system on `n` questions: for every kind the ids of its questions, in the order of the
    questions."""

    system: str
    n: int
    ids: Mapping[str, tuple[str, ...]]

    @property
    def failures(self) -> int:
        return sum(len(ids) for ids in self.ids.values())


def error_kind(predicted: EvidenceGraph, gold: EvidenceGraph, answer_right: bool | None = None) -> str | None:
    """The first of `ERROR_KINDS` that holds for one question, ``None`` where nothing failed.

    Args:
        predicted, gold: graphs over the same candidates. Both empty counts as right.
        answer_right: whether the reader's answer is the gold answer; ``None`` where no reader was asked. It matters
            only where the graph is right: a right answer does not excuse a wrong graph.
    """
    if predicted.edges == gold.edges:
        return "reader" if answer_right is False else None
    found, wanted = set(predicted.nodes), set(gold.nodes)
    if not wanted <= found:
        return "missed_fact"
    if not found <= wanted:
        return "extra_fact"
    before, joined = _ancestors(gold), [edge for edge in predicted.edges if edge[0] != ROOT]
    if any(b in before[a] for a, b in joined):
        return "wrong_direction"
    if any(a not in before[b] for a, b in joined):
        return "wrong_chain"
    return "wrong_edge"


def _ancestors(gold: EvidenceGraph) -> dict[int, set[int]]:
    """The facts that lead to each fact."""
    graph = gold.to_networkx()
    return {node: nx.ancestors(graph, node) for node in gold.nodes}


def kinds_of(evaluation: Evaluation, examples: Sequence[Example]) -> list[str | None]:
    """`error_kind` of each question of one system."""
    return [
        error_kind(result.graph, example.graph, row.qa_em)
        for example, result, row in zip(examples, evaluation.results, evaluation.rows, strict=True)
    ]


def count_errors(evaluation: Evaluation, examples: Sequence[Example]) -> ErrorCounts:
    """One system's failures by kind."""
    kinds = kinds_of(evaluation, examples)
    ids = {
        kind: tuple(example.id for example, found in zip(examples, kinds, strict=True) if found == kind)
        for kind in ERROR_KINDS
    }
    return ErrorCounts(evaluation.name, len(examples), ids)
