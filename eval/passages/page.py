"""What the page of traces is given: each passage once, each question with what every system did
(`eval/trace_page/page.js` reads it).

The comparison as one page that needs nothing else: the table, the plots, and what every system did for any question,
side by side. Texts are data of strangers; see `eval.report.html_page`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from html import escape
from pathlib import Path
from string import Template
from typing import Any

import numpy as np

from bgr.data.multihop.assemble import MultihopQuestion
from bgr.llm.usage import Price, Usage
from eval.passages.compare import PassageComparison
from eval.passages.found import Found
from eval.passages.score import KEY, SystemScores
from eval.passages.tables import notes, systems_table, written
from eval.passages.text import corpus_line
from eval.report.html_page import bundled, image, json_for_script, script_hash

TITLE = "Comparison of retrieval"


def traces_page(comparison: PassageComparison, figures: Mapping[str, Path]) -> str:
    """The page's text.

    Args:
        comparison: the systems.
        figures: PNG files by their description.
    """
    script = bundled("trace_page/page.js")
    return Template(bundled("trace_page/page.html")).substitute(
        title=TITLE,
        about=escape(corpus_line(comparison.about)),
        style=bundled("report_page/page.css") + bundled("trace_page/page.css"),
        table=_table(comparison),
        note="<br>".join(map(escape, notes(comparison))),
        images="".join(image(path, text) for text, path in figures.items()),
        data=json_for_script(page_data(comparison)),
        script_hashes=script_hash(script),
        page=script,
    )


def _table(comparison: PassageComparison) -> str:
    header, rows = systems_table(comparison)
    head = "".join(f"<th>{escape(cell)}</th>" for cell in header)
    body = "".join(f"<tr>{''.join(map(_cell, row))}</tr>" for row in rows)
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def _cell(text: str) -> str:
    """An interval goes under its mean."""
    mean, bracket, rest = text.partition(" [")
    return f"<td>{escape(mean)}{f'<small>[{escape(rest)}</small>' if bracket else ''}</td>"


MOST_PASSAGES = 15
"""Of a list, as many as R@15 looks at."""

MOST_CHARACTERS = 4_000
"""Of one step; the results' file has all of it."""


def page_data(comparison: PassageComparison) -> dict[str, Any]:
    """Names, passages and questions, plain values."""
    number = _Numbers(comparison)
    systems = comparison.systems
    questions = [
        {**_question(q, number), "systems": [_system(one, place, comparison, number) for one in systems]}
        for place, q in enumerate(comparison.data.questions)
    ]
    return {"systems": [one.name for one in systems], "passages": number.passages, "questions": questions}


class _Numbers:
    """Passages by number, in the order in which they are first needed."""

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


def _system(system: SystemScores, place: int, comparison: PassageComparison, number: _Numbers) -> dict[str, Any]:
    found = system.found[place]
    return {
        "places": [number(one) for one in found.passages[:MOST_PASSAGES]],
        "more": max(0, len(found.passages) - MOST_PASSAGES),
        "edges": None if found.graph is None else found.graph.to_json(),
        "answer": found.answer,
        "scores": _scores(system, place),
        "usage": _usage(found, comparison.price),
        "trace": [_step(step) for step in found.trace],
    }


def _scores(system: SystemScores, place: int) -> str:
    there = {metric: system.scores[metric][place] for metric in KEY if metric in system.scores}
    return ", ".join(f"{metric} {100 * value:.0f}" for metric, value in there.items() if not np.isnan(value))


def _usage(found: Found, price: Price | None) -> str:
    usage = found.usage
    parts = [f"{found.whole_seconds:.2f} s"]
    if usage.calls or usage.cached:
        parts += [f"{usage.calls + usage.cached} calls", _tokens(usage)]
    if price is not None:
        parts.append(f"cost {written(price.cost(usage), '.6f')}")
    return ", ".join([*parts, f"{usage.failed} failed"] if usage.failed else parts)


def _tokens(usage: Usage) -> str:
    return "tokens not counted" if usage.uncounted else f"{usage.tokens_in} + {usage.tokens_out} tokens"


def _step(step: Mapping[str, Any]) -> list[Any]:
    """Its line, its record as text, and whether it failed."""
    usage, failure = step.get("usage"), step.get("failure")
    label = str(step.get("step", "step"))
    if "round" in step:
        label = f"round {step['round']}: {label}"
    if isinstance(usage, Mapping):
        label += f" ({_tokens(Usage(**usage))})"
    rest = {name: value for name, value in step.items() if name not in ("step", "round", "usage")}
    text = json.dumps(rest, indent=1, ensure_ascii=False)
    cut = f"\n… {len(text) - MOST_CHARACTERS:,} characters more" if len(text) > MOST_CHARACTERS else ""
    return [label + (f": {failure}" if failure else ""), text[:MOST_CHARACTERS] + cut, bool(failure)]
