"""The passages that are searched."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property


@dataclass(frozen=True)
class Passage:
    """A text with its title; `id` is unique in its corpus and stays when passages are added or deleted."""

    id: str
    title: str
    text: str

    @property
    def whole(self) -> str:
        """Title and text, as search and readers see them. Passages are matched by this, never by title: different
        passages share titles."""
        return f"{self.title}\n{self.text}" if self.title else self.text


class Corpus(Sequence[Passage]):
    """Passages in a fixed order; everything that searches answers with places in it.

    Raises:
        ValueError: two passages have one id.
    """

    def __init__(self, passages: Iterable[Passage]) -> None:
        self.passages = tuple(passages)
        self.place = {passage.id: place for place, passage in enumerate(self.passages)}
        if len(self.place) < len(self.passages):
            seen: set[str] = set()
            twice = next(p.id for p in self.passages if p.id in seen or seen.add(p.id))  # type: ignore[func-returns-value]
            raise ValueError(f"two passages have the id {twice!r}")

    def __len__(self) -> int:
        return len(self.passages)

    def __getitem__(self, place):  # type: ignore[no-untyped-def]
        return self.passages[place]

    @cached_property
    def hash(self) -> str:
        """SHA-256 of all ids, titles and texts in order: two corpora that share it are the same."""
        digest = hashlib.sha256()
        for passage in self.passages:
            digest.update(json.dumps([passage.id, passage.title, passage.text]).encode() + b"\n")
        return digest.hexdigest()
