"""Results by the form of the gold graph (type, structure, hops, chains: paper, Figure 6 and Table 6), and failures by
kind."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from operator import attrgetter
from typing import Any

import networkx as nx

from bgr.data.example import QUESTION_TYPES, STRUCTURES, Example
from bgr.errors import BgrError
from bgr.graph.evidence_graph import ROOT, EvidenceGraph
from eval.run.evaluate import Evaluation, Row, summarize

GROUPINGS = ("type", "structure", "hops", "chains", "facts")
"""Fields of `Row` to group by."""

FIXED_ORDER: Mapping[str, Sequence[Any]] = {"type": QUESTION_TYPES, "structure": STRUCTURES}


def breakdown(evaluation: Evaluation, by: str) -> dict[str, dict[str, float]]:
    """`summarize` for each value of a grouping that occurs, in the paper's order or by number.

    Raises:
        BgrError: the grouping is unknown.
    """
    if by not in GROUPINGS:
        raise BgrError(f"unknown grouping {by!r}, known: {', '.join(GROUPINGS)}")
    groups = _means(evaluation, by)
    return {str(value): groups[value] for value in FIXED_ORDER.get(by, sorted(groups)) if value in groups}


def hops_by_chains(evaluation: Evaluation) -> dict[tuple[int, int], dict[str, float]]:
    """`summarize` for each pair ``(hops, chains)`` that occurs (paper, Table 6)."""
    return dict(sorted(_means(evaluation, "hops", "chains").items()))


def _means(evaluation: Evaluation, *fields: str) -> dict[Any, dict[str, float]]:
    groups: dict[Any, list[Row]] = {}
    for row in evaluation.rows:
        groups.setdefault(attrgetter(*fields)(row), []).append(row)
    return {value: summarize(rows) for value, rows in groups.items()}


ERROR_KINDS: Mapping[str, str] = {
    "missed_fact": "a gold fact was not retrieved",
    "extra_fact": "all gold facts were retrieved, and another one",
    "wrong_direction": "the facts are right; one follows a fact that it leads to",
    "wrong_chain": "the facts are right; one follows a fact that no chain has together with it",
    "wrong_edge": "the facts are right; other edges are missing or too many",
    "reader": "the graph is right, the answer is not",
}
"""The meaning of each kind of failure, in order of precedence: the first kind that holds is counted."""


@dataclass(frozen=True)
class ErrorCounts:
    """The failures of one system on `n` questions: the ids of the questions of each kind, in order."""

    system: str
    n: int
    ids: Mapping[str, tuple[str, ...]]

    @property
    def failures(self) -> int:
        return sum(len(ids) for ids in self.ids.values())


def error_kind(predicted: EvidenceGraph, gold: EvidenceGraph, answer_right: bool | None = None) -> str | None:
    """The first of `ERROR_KINDS` that holds for one question; ``None`` if nothing failed. Two empty graphs are equal.
    The reader's answer (``None`` without a reader) matters only if the graph is right: a right answer does not excuse a
    wrong graph."""
    if predicted.edges == gold.edges:
        return "reader" if answer_right is False else None
    found, wanted = set(predicted.nodes), set(gold.nodes)
    if not wanted <= found:
        return "missed_fact"
    if not found <= wanted:
        return "extra_fact"
    graph, joined = gold.to_networkx(), [edge for edge in predicted.edges if edge[0] != ROOT]
    before = {node: nx.ancestors(graph, node) for node in gold.nodes}
    if any(b in before[a] for a, b in joined):
        return "wrong_direction"
    if any(a not in before[b] for a, b in joined):
        return "wrong_chain"
    return "wrong_edge"


def kinds_of(evaluation: Evaluation, examples: Sequence[Example]) -> list[str | None]:
    """`error_kind` of each question of one system."""
    return [
        error_kind(result.graph, example.graph, row.qa_em)
        for example, result, row in zip(examples, evaluation.results, evaluation.rows, strict=True)
    ]


def count_errors(evaluation: Evaluation, examples: Sequence[Example]) -> ErrorCounts:
    """One system's failures by kind."""
    found = list(zip(examples, kinds_of(evaluation, examples), strict=True))
    ids = {kind: tuple(example.id for example, of_one in found if of_one == kind) for kind in ERROR_KINDS}
    return ErrorCounts(evaluation.name, len(examples), ids)
