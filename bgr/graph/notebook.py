"""Evidence graphs in notebooks: HTML with an inline SVG image that loads nothing and affects nothing else on the page.

Facts, questions and answers are untrusted input; all of them are escaped, and control characters are removed.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from html import escape

from bgr.graph.draw import image
from bgr.graph.layout import Marks, Texts, lay_out
from bgr.graph.rooted_graph import RootedGraph
from bgr.utils.text_layout import clean

# matplotlib writes a style for the whole page, which the outermost element has as its own instead
_STYLE = "stroke-linejoin:round;stroke-linecap:butt"
_REMOVED = re.compile(r"<metadata>.*?</metadata>|<style\b.*?</style>", re.DOTALL)

_BOX = "overflow-x:auto;background:#fff;color:#222;padding:4px"


def graph_html(
    graph: RootedGraph,
    facts: Texts,
    question: str,
    *,
    title: str = "",
    notes: Iterable[str] = (),
    marks: Marks | None = None,
) -> str:
    """The picture of a graph, below a title, with one line for each note.

    Args:
        facts: the texts of the graph's facts, by their numbers.
        marks: characters of facts to highlight.
    """
    picture = _svg(graph, facts, question, marks) if graph.edges else "<p>no evidence</p>"
    return _box(title, notes, picture)


def list_html(texts: Sequence[str], scores: Sequence[float], *, title: str = "", notes: Iterable[str] = ()) -> str:
    """A ranked list of texts with their scores."""
    rows = (f"<li>{_text(text)} <i>({score:.3g})</i></li>" for text, score in zip(texts, scores, strict=True))
    return _box(title, notes, f"<ol>{''.join(rows)}</ol>" if texts else "<p>no texts</p>")


def _box(title: str, notes: Iterable[str], content: str) -> str:
    heading = f"<p><b>{_text(title)}</b></p>" if title else ""
    lines = "".join(f"<p>{_text(note)}</p>" for note in notes)
    return f'<div style="{_BOX}">{heading}{content}{lines}</div>'


def _svg(graph: RootedGraph, facts: Texts, question: str, marks: Marks | None) -> str:
    content = image(lay_out(graph, facts, question, marks=marks), "svg", legend=False).decode()
    content = _REMOVED.sub("", content[content.index("<svg") :])  # texts hold no markup: "<" is escaped in them
    return content.replace("<svg", f'<svg style="{_STYLE}"', 1)


def _text(text: str) -> str:
    return escape(clean(text), quote=True)
