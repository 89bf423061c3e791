"""Data of the page of traces: each passage once, and for each question the result and the steps of every system."""

from __future__ import annotations

import json
from collections import defaultdict
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
    corpus = comparison.data.corpus
    numbers: dict[str, int] = defaultdict(lambda: len(numbers))
    questions = []
    for place, question in enumerate(comparison.data.questions):
        record = _question(question, numbers)
        record["systems"] = [_result(one, place, comparison.price, numbers) for one in comparison.systems]
        questions.append(record)
    passages = [corpus[corpus.index_of[one]] for one in numbers]
    return {
        "systems": [one.name for one in comparison.systems],
        "passages": [[passage.title, passage.text] for passage in passages],
        "questions": questions,
    }


def _question(question: MultihopQuestion, numbers: Mapping[str, int]) -> dict[str, Any]:
    return {
        "id": question.id,
        "question": question.question,
        "answers": list(question.answers),
        "hops": question.hops,
        "kind": question.kind,
        "gold": [numbers[one] for one in question.gold],
        "missing": question.missing,
        "edges": None if question.graph is None else question.graph.to_json(),
    }


def _result(system: SystemScores, place: int, price: Price | None, numbers: Mapping[str, int]) -> dict[str, Any]:
    found = system.found[place]
    return {
        "places": [numbers[one] for one in found.passages[:MAX_PASSAGES]],
        "more": max(0, len(found.passages) - MAX_PASSAGES),
        "edges": None if found.graph is None else found.graph.to_json(),
        "answer": found.answer,
        "scores": _scores(system, place),
        "usage": _usage(found, price),
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
    names = ("failed", "unanswered", "retried", "cut", "clipped")
    return ", ".join([*parts, *(f"{count} {name}" for name in names if (count := getattr(usage, name)))])


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
