"""Fact numbers as a model writes them: 1, 2, … for the facts it was shown, 0 or Q for the question."""

from __future__ import annotations

import re
from typing import Any

from bgr.graph import ROOT

_LABEL = re.compile(r"\s*(?:[Qq]|[Ff]?(\d{1,9}))\s*")


class Numbers:
    """Tells the numbers that stand for something from those that were made up, and counts the latter.

    Args:
        count: facts that were shown.
    """

    def __init__(self, count: int) -> None:
        self.count = count
        self.unknown = 0

    def place(self, value: Any) -> int | None:
        """The fact's place from 0, or `ROOT`; ``None``, and counted, for any other value."""
        number = _number(value)
        if number is None or not 0 <= number <= self.count:
            self.unknown += 1
            return None
        return number - 1 if number else ROOT


def _number(value: Any) -> int | None:
    if isinstance(value, str):
        found = _LABEL.fullmatch(value)
        return None if found is None else int(found[1] or 0)
    if isinstance(value, float) and value.is_integer():
        return int(value)
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def label(node: int, question: str = "0", before: str = "") -> str:
    """A node of a graph over the facts shown, as a model is to write it."""
    return question if node == ROOT else f"{before}{node + 1}"
