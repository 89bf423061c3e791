"""Data of the page of traces: each passage once, and for each question the result and the steps of every system."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import numpy as np

from bgr.data.multihop.assemble import MultihopQuestion
from bgr.llm.usage import Price, Usage
from eval.compare.passages import PassageComparison
from eval.report.document import number_text
from eval.run.passage_scores import KEY, SystemScores
from eval.run.question_result import QuestionResult

MAX_PASSAGES = 15
"""Number of passages of a list on the page, as many as R@15 needs."""
MAX_CHARACTERS = 4_000
"""Number of characters of a step on the page; ``results.jsonl`` has the whole step."""


def page_data(comparison: PassageComparison) -> dict[str, Any]:
    """Names of systems, passages (each once) and questions as plain values (``assets/traces.js`` reads it)."""
    numbers = _Numbers(comparison)
    questions = [
        {
            **_question(question, numbers),
            "systems": [_result(one, place, comparison, numbers) for one in comparison.systems],
        }
        for place, question in enumerate(comparison.data.questions)
    ]
    return {"systems": [one.name for one in comparison.systems], "passages": numbers.passages, "questions": questions}


class _Numbers:
    """Numbers of passages, in the order of their first use."""

    def __init__(self, comparison: PassageComparison) -> None:
        self.corpus = comparison.data.corpus
        self.passages: list[list[str]] = []
        self._number: dict[str, int] = {}

    def __call__(self, one: str) -> int:
        if one not in self._number:
            passage = self.corpus[self.corpus.index_of[one]]
            self._number[one] = len(self.passages)
            self.passages.append([passage.title, passage.text])
        return self._number[one]


def _question(question: MultihopQuestion, number: _Numbers) -> dict[str, Any]:
    return {
        "id": question.id,
        "question": question.question,
        "answers": list(question.answers),
        "hops": question.hops,
        "kind": question.kind,
        "gold": [number(one) for one in question.gold],
        "missing": question.missing,
        "edges": None if question.graph is None else question.graph.to_json(),
    }


def _result(system: SystemScores, place: int, comparison: PassageComparison, number: _Numbers) -> dict[str, Any]:
    found = system.found[place]
    return {
        "places": [number(one) for one in found.passages[:MAX_PASSAGES]],
        "more": max(0, len(found.passages) - MAX_PASSAGES),
        "edges": None if found.graph is None else found.graph.to_json(),
        "answer": found.answer,
        "scores": _scores(system, place),
        "usage": _usage(found, comparison.price),
        "trace": [_step(step) for step in found.trace],
    }


def _scores(system: SystemScores, place: int) -> str:
    values = {metric: system.scores[metric][place] for metric in KEY if metric in system.scores}
    return ", ".join(f"{metric} {100 * value:.0f}" for metric, value in values.items() if not np.isnan(value))


def _usage(found: QuestionResult, price: Price | None) -> str:
    usage = found.usage
    parts = [f"{found.whole_seconds:.2f} s"]
    if usage.calls or usage.cached:
        parts += [f"{usage.calls + usage.cached} calls", _tokens(usage)]
    if price is not None:
        parts.append(f"cost {number_text(price.cost(usage), '.6f')}")
    return ", ".join([*parts, f"{usage.failed} failed"] if usage.failed else parts)


def _tokens(usage: Usage) -> str:
    return "tokens not counted" if usage.uncounted else f"{usage.tokens_in} + {usage.tokens_out} tokens"


def _step(step: Mapping[str, Any]) -> list[Any]:
    """The label of a step, its record as text, and whether it failed."""
    usage, failure = step.get("usage"), step.get("failure")
    label = str(step.get("step", "step"))
    if "round" in step:
        label = f"round {step['round']}: {label}"
    if isinstance(usage, Mapping):
        label += f" ({_tokens(Usage(**usage))})"
    rest = {name: value for name, value in step.items() if name not in ("step", "round", "usage")}
    text = json.dumps(rest, indent=1, ensure_ascii=False)
    cut = f"\n… {len(text) - MAX_CHARACTERS:,} characters more" if len(text) > MAX_CHARACTERS else ""
    return [label + (f": {failure}" if failure else ""), text[:MAX_CHARACTERS] + cut, bool(failure)]
