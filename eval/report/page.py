"""Reports as one HTML file that needs nothing else and loads nothing.

Questions, facts, answers and names are untrusted text: Jinja2 escapes them, JSON cannot end its element, and scripts
run only if their hash stands in the page's policy.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

from jinja2 import Environment, FunctionLoader, StrictUndefined
from jinja2.utils import htmlsafe_json_dumps
from markupsafe import Markup

from bgr.utils.atomic_io import write_text
from eval.report.document import Choice, Document, Figure, Table, split_interval

SCRIPTS: Mapping[str, tuple[str, ...]] = {
    "graphs": ("cytoscape.min.js", "graphs.js", "explorer.js"),
    "traces": ("traces.js",),
}
"""The scripts of each explorer, in the order in which they run."""


@dataclass(frozen=True)
class Explorer:
    """The part of a page that shows single questions: ``graphs`` (evidence graphs) or ``traces`` (the steps of each
    system side by side), and its data as plain values."""

    kind: str
    data: Mapping[str, Any]


def write_page(path: Path, document: Document, explorer: Explorer | None = None) -> None:
    """Write the page.

    Raises:
        DataError: the file cannot be written.
    """
    write_text(path, render(document, explorer))


def render(document: Document, explorer: Explorer | None = None) -> str:
    """The page's text."""
    scripts = [_bundled(name) for name in ("choices.js", *(SCRIPTS[explorer.kind] if explorer else ()))]
    return (
        _environment()
        .get_template("page.html")
        .render(
            document=document,
            sections=[section for section in document.sections if section.parts],
            about={name: _short(name, value) for name, value in document.about.items()},
            explorer=explorer and f"{explorer.kind}.html",
            data=explorer and json_for_script(explorer.data),
            style=Markup(_bundled("page.css")),
            scripts=[Markup(script) for script in scripts],
            hashes=Markup(" ".join(map(script_hash, scripts))),
        )
    )


def json_for_script(value: Any) -> Markup:
    """JSON that is safe inside a script element: no character in it can end the element or begin another."""
    return htmlsafe_json_dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)


def script_hash(script: str) -> str:
    """The name of a script in the page's policy."""
    return f"'sha256-{base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()}'"


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=FunctionLoader(_bundled),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    tests = {"table": Table, "figure": Figure, "choice": Choice}
    environment.tests |= {name: lambda part, kind=kind: isinstance(part, kind) for name, kind in tests.items()}
    environment.filters |= {"split_interval": split_interval, "shade": _shade, "png": _png}
    return environment


def _bundled(name: str) -> str:
    """A file of the folder ``assets``."""
    return files("eval.report").joinpath("assets", name).read_text(encoding="utf-8")


def _short(name: str, value: Any) -> str:
    """A setting's value; a hash by its beginning."""
    return f"{str(value)[:12]}…" if name.endswith("_hash") else str(value)


def _shade(percentage: str) -> str:
    """The opacity of a cell's color: a higher percentage is a deeper blue."""
    return f"{0.0045 * float(percentage):.3f}"


def _png(figure: Figure) -> str:
    return base64.b64encode(figure.path.read_bytes()).decode()
