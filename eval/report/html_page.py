"""Pages that need nothing else: one file, no network.

Questions, facts, answers and names are data of strangers: text is escaped, JSON cannot end its element, scripts run
only if their hash stands in the page's policy, and nothing may be loaded.
"""

from __future__ import annotations

import base64
import hashlib
import json
from html import escape
from importlib.resources import files
from pathlib import Path
from typing import Any


def json_for_script(value: Any) -> str:
    """JSON that is safe inside a script element: no character in it can end the element or begin another."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    for char in "<>&\u2028\u2029":
        text = text.replace(char, f"\\u{ord(char):04x}")
    return text


def bundled(name: str) -> str:
    """A file that belongs to a page, by its path below ``eval``."""
    return files("eval.report").joinpath(*name.split("/")).read_text(encoding="utf-8")


def script_hash(script: str) -> str:
    """As the page's policy names a script that may run."""
    return f"'sha256-{base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()}'"


def image(path: Path, description: str) -> str:
    """A PNG file as an element."""
    content = base64.b64encode(path.read_bytes()).decode()
    return f'<img alt="{escape(description)}" src="data:image/png;base64,{content}">'
