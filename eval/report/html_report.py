"""What the page's explorer is given: each fact once, each question as a short list (`report_page/page.js` reads it).

The comparison as one page that needs nothing else: tables, plots and an explorer of single questions. Texts are data
of strangers; see `eval.report.html_page`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from html import escape
from pathlib import Path
from string import Template
from typing import Any

from bgr.data.example import QUESTION_TYPES, STRUCTURES, Example
from bgr.graph.evidence_graph import EvidenceGraph
from eval.compare.compare import Comparison
from eval.report.html_page import bundled, image, json_for_script, script_hash
from eval.report.html_report_tables import (
    difference_section,
    error_section,
    figure6_section,
    systems_section,
    table6_section,
)
from eval.run.errors import ERROR_KINDS, kinds_of
from eval.run.evaluate import Evaluation

TITLE = "Comparison of evidence-graph retrieval"


def write_html(path: Path, comparison: Comparison, figures: Mapping[str, Path]) -> None:
    """Write the page.

    Args:
        path: the file.
        comparison: the systems.
        figures: PNG files, by "Figure 5" and "Figure 6"; the former may be missing.
    """
    path.write_text(html_page(comparison, figures), encoding="utf-8")


def html_page(comparison: Comparison, figures: Mapping[str, Path]) -> str:
    """The page's text; arguments as for `write_html`."""
    scripts = {"cytoscape": "cytoscape.min.js", "graphs": "graphs.js", "page": "page.js"}
    scripts = {name: bundled(f"report_page/{file}") for name, file in scripts.items()}
    sections = {
        "systems": ("Systems", systems_section(comparison)),
        "differences": ("Differences", difference_section(comparison)),
        "groups": ("Types and structures", figure6_section(comparison) + _image(figures, "Figure 6")),
        "hops": ("Hops and chains", table6_section(comparison)),
        "gamma": ("Reconstruction and γ", _image(figures, "Figure 5")),
        "errors": ("Errors", error_section(comparison)),
    }
    there = {key: part for key, part in sections.items() if part[1]}
    links = {key: title for key, (title, _) in there.items()} | {"questions": "Questions"}
    return Template(bundled("report_page/page.html")).substitute(
        title=TITLE,
        about=_about(comparison.about),
        style=bundled("report_page/page.css"),
        navigation="".join(f'<a href="#{key}">{title}</a>' for key, title in links.items()),
        sections="\n".join(f'<section id="{k}"><h2>{title}</h2>{body}</section>' for k, (title, body) in there.items()),
        data=json_for_script(page_data(comparison)),
        script_hashes=" ".join(script_hash(text) for text in scripts.values()),
        **scripts,
    )


def _about(about: Mapping[str, Any]) -> str:
    """What was compared; a hash by its beginning."""
    short = {name: f"{str(value)[:12]}…" if name == "data_hash" else str(value) for name, value in about.items()}
    return " ".join(f"<span>{escape(name.replace('_', ' '))}: {escape(value)}</span>" for name, value in short.items())


def _image(figures: Mapping[str, Path], name: str) -> str:
    return image(figures[name], name) if name in figures else ""


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
