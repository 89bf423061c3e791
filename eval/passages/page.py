"""The comparison as one page that needs nothing else: the table, the plots, and what every system did for any question,
side by side. Texts are data of strangers; see `eval.html_page`."""

from __future__ import annotations

from collections.abc import Mapping
from html import escape
from pathlib import Path
from string import Template

from eval.html_page import bundled, image, json_for_script, script_hash
from eval.passages.compare import PassageComparison
from eval.passages.page_data import page_data
from eval.passages.tables import notes, systems_table
from eval.passages.text import corpus_line

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
