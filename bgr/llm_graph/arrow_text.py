"""Arrows between labels in free text: ``Q -> 2``, ``F2 -> F5;``, ``the question -> [2] -> fact 5``."""

from __future__ import annotations

import re
from itertools import pairwise

from bgr.graph import Edge
from bgr.llm_graph.numbers import Numbers

MOST_READ = 20_000
"""Characters of a reply that are looked at."""

_ARROW = r"\s{0,9}(?:-{1,2}>|=>|→)\s{0,9}"
_LABEL = r"(?:[Qq]|[Ff]?\d+)"
_AROUND = re.compile(r"[\[\]()\"'`*#]|\bfacts?\s?(?=\d)", re.IGNORECASE)
_QUESTION = re.compile(r"\b(?:the\s)?question\b", re.IGNORECASE)
_RUN = re.compile(rf"(?<![\w.-]){_LABEL}(?:{_ARROW}{_LABEL})+(?!\w)")


def arrows(text: str, numbers: Numbers) -> list[Edge] | None:
    """The edges of all arrows in order, those with an unknown end left out; ``None`` where there is no arrow."""
    plain = _QUESTION.sub("Q", _AROUND.sub("", text[:MOST_READ]))
    runs = [re.split(_ARROW, run) for run in _RUN.findall(plain)]
    pairs = [(numbers.place(a), numbers.place(b)) for run in runs for a, b in pairwise(run)]
    return [(a, b) for a, b in pairs if a is not None and b is not None] if runs else None
