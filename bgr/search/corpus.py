"""The passages that are searched."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import overload


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
        self.place: dict[str, int] = {}
        for place, passage in enumerate(self.passages):
            if self.place.setdefault(passage.id, place) != place:
                raise ValueError(f"two passages have the id {passage.id!r}")

    def __len__(self) -> int:
        return len(self.passages)

    @overload
    def __getitem__(self, place: int) -> Passage: ...

    @overload
    def __getitem__(self, place: slice) -> tuple[Passage, ...]: ...

    def __getitem__(self, place: int | slice) -> Passage | tuple[Passage, ...]:
        return self.passages[place]

    @cached_property
    def hash(self) -> str:
        """SHA-256 of all ids, titles and texts in order: two corpora that share it are the same."""
        digest = hashlib.sha256()
        for passage in self.passages:
            digest.update(json.dumps([passage.id, passage.title, passage.text]).encode() + b"\n")
        return digest.hexdigest()
