"""What the page's explorer is given: each fact once, each question as a short list (`report_page/page.js` reads it)."""

from __future__ import annotations

import math
from typing import Any

from bgr.example import QUESTION_TYPES, STRUCTURES, Example
from bgr.graph import EvidenceGraph
from eval.compare import Comparison
from eval.errors import ERROR_KINDS, kinds_of
from eval.evaluate import Evaluation

_KINDS = list(ERROR_KINDS)


def page_data(comparison: Comparison) -> dict[str, Any]:
    """Names, facts and questions; types, structures and kinds of error are numbers into their lists."""
    numbers: dict[str, int] = {}
    kinds = [kinds_of(one, comparison.examples) for one in comparison.evaluations]
    questions = []
    for place, example in enumerate(comparison.examples):
        outcomes = [_outcome(one, place, kind[place]) for one, kind in zip(comparison.evaluations, kinds, strict=True)]
        questions.append([*_question(example, numbers), outcomes])
    names = [one.name for one in comparison.evaluations]
    return {
        "systems": names,
        "main": names.index(comparison.main),
        "types": list(QUESTION_TYPES),
        "structures": list(STRUCTURES),
        "kinds": _KINDS,
        "kind_texts": list(ERROR_KINDS.values()),
        "facts": list(numbers),
        "questions": questions,
    }


def _question(example: Example, numbers: dict[str, int]) -> list[Any]:
    facts = [numbers.setdefault(fact, len(numbers)) for fact in example.facts]
    graph = example.graph
    return [
        example.id,
        example.question,
        QUESTION_TYPES.index(example.type),
        STRUCTURES.index(example.structure),
        graph.hops,
        graph.chains,
        example.answer,
        facts,
        [node for edge in sorted(graph.edges) for node in edge],
    ]


def _outcome(evaluation: Evaluation, place: int, kind: str | None) -> list[Any]:
    row, graph = evaluation.rows[place], evaluation.results[place].graph
    answer = None if evaluation.answers is None else evaluation.answers[place]
    number = -1 if kind is None else _KINDS.index(kind)
    return [_scored(graph), round(100 * row.f1), row.ged_labelled, number, answer, row.qa_em]


def _scored(graph: EvidenceGraph) -> list[float | None]:
    """``a, b, score, a, b, score, …``; a score that is no finite number is left out."""
    flat: list[float | None] = []
    for a, b in sorted(graph.edges):
        score = graph.scores.get((a, b), math.nan)
        flat += [a, b, round(score, 3) if math.isfinite(score) else None]
    return flat
