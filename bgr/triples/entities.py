"""Entities of triples: which names are one entity, and which triples an entity is in."""

from __future__ import annotations

import unicodedata

import numpy as np


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
