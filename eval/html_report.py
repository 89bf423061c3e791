"""The comparison as one page that needs nothing else: tables, plots and an explorer of single questions. Texts are data
of strangers; see `eval.html_page`."""

from __future__ import annotations

from collections.abc import Mapping
from html import escape
from pathlib import Path
from string import Template
from typing import Any

from eval.compare import Comparison
from eval.html_page import bundled, image, json_for_script, script_hash
from eval.html_report_data import page_data
from eval.html_report_tables import difference_section, error_section, figure6_section, systems_section, table6_section

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
