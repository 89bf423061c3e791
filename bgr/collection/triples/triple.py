"""Entities of triples: which names are one entity, and which triples an entity is in.

A fact in three parts, and the passage it was read from.

The three parts of a triple out of what a file or a language model holds, which may be anything.
"""

from __future__ import annotations

import unicodedata
from typing import Any, NamedTuple

import numpy as np

from bgr.errors import DataError
from bgr.utils.json_utils import is_text, shown


class Triple(NamedTuple):
    """``(subject, predicate, object)`` as text; `passage` is the index of its passage in the corpus (GEAR, section 3:
    every triple belongs to exactly one)."""

    subject: str
    predicate: str
    object: str
    passage: int

    @property
    def text(self) -> str:
        """As one line, for search and for readers."""
        return f"{self.subject} {self.predicate} {self.object}"


class MalformedRowError(DataError):
    """A row that is no triple; `reason` is one of few phrases."""

    def __init__(self, reason: str, row: Any) -> None:
        super().__init__(f"{reason}: {shown(row)}")
        self.reason = reason


def three_parts(row: Any) -> tuple[str, str, str]:
    """Subject, predicate and object, each on one line.

    Raises:
        MalformedRowError: not a list of three texts that are not empty.
    """
    if not isinstance(row, list):
        raise MalformedRowError("not a list", row)
    if len(row) != 3:
        raise MalformedRowError("not three parts", row)
    if not all(is_text(part) for part in row):
        raise MalformedRowError("a part is not text", row)
    subject, predicate, object = (" ".join(part.split()) for part in row)
    if not (subject and predicate and object):
        raise MalformedRowError("an empty part", row)
    return subject, predicate, object


def entity_key(name: str) -> str:
    """What two names of one entity share: NFKC, case folded, runs of white space as one blank."""
    return " ".join(unicodedata.normalize("NFKC", name).casefold().split())


class EntityNumbers(dict[str, int]):
    """The number of a name's entity, from 0; looking a name up gives it one. Names are normalised once each."""

    def __init__(self) -> None:
        self._of_key: dict[str, int] = {}

    def __missing__(self, name: str) -> int:
        number = self[name] = self._of_key.setdefault(entity_key(name), len(self._of_key))
        return number


def members_of(head: np.ndarray, tail: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The triples of every entity.

    Args:
        head: ``int32 [n]``, entity of each triple's subject.
        tail: ``int32 [n]``, of its object.

    Returns:
        ``int64 [entities + 1]`` starts and ``int32 [m]`` members: those of entity `e` are
        ``members[starts[e] : starts[e + 1]]``, ascending, a triple of one entity with itself once.
    """
    entities = int(max(head.max(), tail.max())) + 1 if len(head) else 0
    ends = np.stack([head, tail], axis=1)  # [n, 2]
    once = np.stack([np.ones(len(head), dtype=bool), head != tail], axis=1)
    owner = ends[once]  # [m], by triple
    triple = np.repeat(np.arange(len(head), dtype=np.int32), once.sum(1))
    starts = np.zeros(entities + 1, dtype=np.int64)
    np.cumsum(np.bincount(owner, minlength=entities), out=starts[1:])
    return starts, triple[np.argsort(owner, kind="stable")]


def neighbours_of(
    number: int, head: np.ndarray, tail: np.ndarray, starts: np.ndarray, members: np.ndarray
) -> np.ndarray:
    """The other triples that share an entity with one (GEAR, section 4.2): ``int32``, ascending, each once."""
    a, b = int(head[number]), int(tail[number])
    found = members[starts[a] : starts[a + 1]]
    if b != a:
        found = np.concatenate([found, members[starts[b] : starts[b + 1]]])
        found.sort()
        found = found[np.diff(found, prepend=-1) > 0]  # sorted: equal ones are beside each other
    return found[found != number]
