"""Reports as one self-contained HTML file, which loads nothing.

Questions, facts, answers and names are untrusted text: Jinja2 escapes them, JSON cannot end its element, and a script
runs only if its hash is in the page's policy.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

from jinja2 import Environment, FunctionLoader, StrictUndefined, Template
from jinja2.utils import htmlsafe_json_dumps
from markupsafe import Markup

from eval.report.document import Choice, Document, Figure, Table, split_interval

SCRIPTS: Mapping[str, tuple[str, ...]] = {
    "graphs": ("cytoscape.min.js", "graphs.js", "explorer.js"),
    "traces": ("traces.js",),
}
"""The scripts of each explorer, in order."""


@dataclass(frozen=True)
class Explorer:
    """The part of a page that shows single questions: its kind, ``graphs`` (evidence graphs) or ``traces`` (the steps
    of each system), and its data as plain values."""

    kind: str
    data: Mapping[str, Any]


def render(document: Document, explorer: Explorer | None = None) -> str:
    """The text of a page."""
    scripts = [_bundled(name) for name in ("choices.js", *(SCRIPTS[explorer.kind] if explorer else ()))]
    about = {name: str(value) for name, value in document.about.items()}
    return _template().render(
        document=document,
        sections=[section for section in document.sections if section.parts],
        about={name: f"{text[:12]}…" if name.endswith("_hash") else text for name, text in about.items()},
        explorer=explorer and f"{explorer.kind}.html",
        data=explorer and json_for_script(explorer.data),
        style=Markup(_bundled("page.css")),
        scripts=[Markup(script) for script in scripts],
        hashes=Markup(" ".join(map(script_hash, scripts))),
    )


def json_for_script(value: Any) -> Markup:
    """JSON that is safe inside a script element: it cannot end the element or begin another."""
    return htmlsafe_json_dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)


def script_hash(script: str) -> str:
    """The hash of a script, as the page's policy names it."""
    return f"'sha256-{base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()}'"


@cache
def _template() -> Template:
    environment = Environment(
        loader=FunctionLoader(_bundled),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    tests = {"table": Table, "figure": Figure, "choice": Choice}
    environment.tests |= {name: lambda part, kind=kind: isinstance(part, kind) for name, kind in tests.items()}
    environment.filters |= {"split_interval": split_interval, "shade": _opacity, "png": _png}
    return environment.get_template("page.html")


def _bundled(name: str) -> str:
    """A file of the folder ``assets``."""
    return files("eval.report").joinpath("assets", name).read_text(encoding="utf-8")


def _opacity(percentage: str) -> str:
    return f"{0.0045 * float(percentage):.3f}"


def _png(figure: Figure) -> str:
    return base64.b64encode(figure.path.read_bytes()).decode()
