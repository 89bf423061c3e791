"""A fact in three parts, and the passage it was read from."""

from __future__ import annotations

from typing import NamedTuple


class Triple(NamedTuple):
    """``(subject, predicate, object)`` as text; `place` is its passage's in the corpus (GEAR, section 3: every triple
    belongs to exactly one)."""

    subject: str
    predicate: str
    object: str
    place: int

    @property
    def text(self) -> str:
        """As one line, for search and for readers."""
        return f"{self.subject} {self.predicate} {self.object}"
