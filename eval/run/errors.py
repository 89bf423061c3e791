"""Failures sorted into kinds: what went wrong first, each failed question in exactly one kind."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import networkx as nx

from bgr.data.example import Example
from bgr.graph.evidence_graph import ROOT, EvidenceGraph
from eval.report.tables import markdown_table, text_table
from eval.run.evaluate import Evaluation

ERROR_KINDS: Mapping[str, str] = {
    "missed_fact": "a gold fact was not retrieved",
    "extra_fact": "all gold facts were retrieved, and another one",
    "wrong_direction": "the facts are right; one follows a fact that it leads to",
    "wrong_chain": "the facts are right; one follows a fact that no chain has together with it",
    "wrong_edge": "the facts are right; other edges are missing or too many",
    "reader": "the graph is right, the answer is not",
}
"""Kind to meaning, in the order of precedence: a failure is of the first kind that holds."""

EXAMPLES = 5
"""Examples of each kind in a report."""


@dataclass(frozen=True)
class ErrorCounts:
    """The failures of one system on `n` questions: kind to the ids of its questions, in the order of the questions.

    Every kind is there; `kind_of` gives ``None`` for a question without failure.
    """

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


def errors_table(counts: Sequence[ErrorCounts]) -> tuple[list[str], list[list[str]]]:
    """Header and one row for each system: how many questions failed, and how many in each kind."""
    header = ["system", "n", "failed", *(kind.replace("_", " ") for kind in ERROR_KINDS)]
    rows = [
        [one.system, str(one.n), str(one.failures), *(str(len(one.ids[kind])) for kind in ERROR_KINDS)]
        for one in counts
    ]
    return header, rows


def errors_text(counts: Sequence[ErrorCounts]) -> str:
    """The counts as plain text, with what each kind means."""
    meaning = [f"{kind.replace('_', ' ')}: {text}" for kind, text in ERROR_KINDS.items()]
    return "\n".join([text_table(*errors_table(counts)), "The first kind that holds, in this order:", *meaning])


def errors_markdown(counts: Sequence[ErrorCounts], examples: Sequence[Example]) -> str:
    """The counts, then a few questions of each kind and system."""
    questions = {example.id: " ".join(example.question.split()) for example in examples}
    parts = ["# Errors", markdown_table(*errors_table(counts)), "The first kind that holds, in this order:"]
    parts.append("\n".join(f"- {kind.replace('_', ' ')}: {text}" for kind, text in ERROR_KINDS.items()))
    for one in counts:
        parts.append(f"## {one.system}")
        for kind, ids in one.ids.items():
            if ids:
                lines = "\n".join(f"- `{name}` {questions[name]}" for name in ids[:EXAMPLES])
                parts.append(f"{kind.replace('_', ' ')} ({len(ids)})\n\n{lines}")
    return "\n\n".join(parts) + "\n"


def errors_json(counts: Sequence[ErrorCounts]) -> dict[str, Any]:
    """By system: ``n``, ``failures``, and for each kind its ``count`` and all its ``ids``."""
    return {
        one.system: {
            "n": one.n,
            "failures": one.failures,
            "kinds": {kind: {"count": len(ids), "ids": list(ids)} for kind, ids in one.ids.items()},
        }
        for one in counts
    }


def write_errors(folder: Path, counts: Sequence[ErrorCounts], examples: Sequence[Example]) -> None:
    """Write ``errors.json`` and ``errors.md`` into an existing folder."""
    text = json.dumps(errors_json(counts), indent=2, ensure_ascii=False)
    (folder / "errors.json").write_text(text + "\n", encoding="utf-8")
    (folder / "errors.md").write_text(errors_markdown(counts, examples), encoding="utf-8")
