"""Diverse triple beam search (paper, Algorithm 1), for all questions at once, over flat arrays with an owner index and
the triple index's CSR lists."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from bgr.collection.triples.index import TripleIndex
from bgr.retrievers.gear.scores import MeanVectors, SequenceScores, products
from bgr.retrievers.llm_retriever import check_minimum


@dataclass(frozen=True)
class BeamSettings:
    """Settings of the diverse triple beam search (Algorithm 1); the defaults are the paper's (appendix B).

    Args:
        width: sequences kept for each question, b.
        length: triples in a sequence, l.
        neighbours: maximum neighbors of a sequence's last triple that are tried.
        gamma: γ of the diversity weight; ``None`` for twice the width.
        diverse: whether extensions of one beam are weighted by their rank.
        read: maximum neighbors whose vectors are read to find those. A common entity may have more than a hundred
            thousand; then the first by triple number count.

    Raises:
        ValueError: a number below 1, or γ not above 0.
    """

    width: int = 10
    length: int = 2
    neighbours: int = 100
    gamma: float | None = None
    diverse: bool = True
    read: int = 10_000

    def __post_init__(self) -> None:
        check_minimum(self)
        if self.gamma is not None and not self.gamma > 0:
            raise ValueError(f"gamma is {self.gamma}; it must be above 0")


PAPER_BEAM = BeamSettings()


def ranges(first: np.ndarray, count: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """``first[i], first[i] + 1, …`` (`count[i]` numbers) one after the other, and the ``i`` of each."""
    row = np.repeat(np.arange(len(first)), count)
    before = np.cumsum(count) - count
    return np.arange(len(row)) - before[row] + first[row], row


def ranks(owner: np.ndarray, scores: np.ndarray) -> np.ndarray:
    """The rank of each row among its owner's by falling score, from 0; equal scores in the order given.

    *Shape:* ``[n]``, ``[n]`` -> ``int64 [n]``.
    """
    order = np.lexsort((-scores, owner))  # stable
    sizes = np.bincount(owner)
    before = np.cumsum(sizes) - sizes
    rank = np.empty(len(owner), dtype=np.int64)
    rank[order] = np.arange(len(owner)) - before[owner[order]]
    return rank


def neighbor_pairs(
    index: TripleIndex, last: np.ndarray, owner: np.ndarray, queries: np.ndarray, *, max_kept: int, read: int
) -> tuple[np.ndarray, np.ndarray]:
    """Triples that share the head or the tail entity with each beam's last triple (paper, section 4.2).

    The paper tries 100 neighbors of a beam and does not say which. Here they are those whose vectors are most similar
    to the question, equal ones by number. Of an entity with more than `read` triples only the first `read` by number
    are considered.

    Args:
        last: ``[m]`` the last triple of each beam.
        owner: ``[m]`` the question of each beam.
        queries: ``[q, d]`` unit vectors.

    Returns:
        ``(beam, triple)``, each ``int64 [n]``, by beam and then by triple number; no triple is its own neighbor.
    """
    beam, triple = _sharing(index, last, read)
    many = (np.bincount(beam, minlength=len(last)) > max_kept)[beam]  # only these beams' vectors need be read
    if not many.any():
        return beam, triple
    similar = _similarity(index, queries, owner[beam[many]], triple[many])
    kept = ~many
    kept[many] = ranks(beam[many], similar) < max_kept
    return beam[kept], triple[kept]


def _sharing(index: TripleIndex, last: np.ndarray, read: int) -> tuple[np.ndarray, np.ndarray]:
    """All neighbors as sorted unique pairs ``(beam, triple)``."""
    entities = np.concatenate([index.head[last], index.tail[last]]).astype(np.int64)
    beams = np.tile(np.arange(len(last)), 2)
    first = index.starts[entities].astype(np.int64)
    count = np.minimum(index.starts[entities + 1].astype(np.int64) - first, read)
    place, row = ranges(first, count)
    triple = np.asarray(index.members[place]).astype(np.int64)
    keys = np.unique(beams[row] * len(index) + triple)
    beam, triple = np.divmod(keys, len(index))
    other = triple != last[beam]
    return beam[other], triple[other]


def _similarity(index: TripleIndex, queries: np.ndarray, owner: np.ndarray, triple: np.ndarray) -> np.ndarray:
    """Cosine of question and triple for each pair, computed once for pairs that beams share. `owner` is sorted."""
    keys, back = np.unique(owner * len(index) + triple, return_inverse=True)
    owner, triple = np.divmod(keys, len(index))
    values = np.empty(len(keys), dtype=np.float32)
    for query in np.unique(owner):
        first, last = np.searchsorted(owner, [query, query + 1])
        values[first:last] = products(index.vectors, triple[first:last], queries[query])
    return values[back]


class Beams(NamedTuple):
    """One question's sequences of triples, best first.

    Args:
        triples: ``int64 [b, length]`` numbers in the index.
        scores: ``float64 [b]``.
    """

    triples: np.ndarray
    scores: np.ndarray

    def flat(self) -> list[int]:
        """The triples breadth-first, each once: the first of every sequence, then the second (paper, section 4.2)."""
        return list(dict.fromkeys(self.triples.T.ravel().tolist()))


class _Level(NamedTuple):
    """The sequences of all questions at one length, by question and then best first."""

    owner: np.ndarray  # [n]
    triples: np.ndarray  # [n, length]
    scores: np.ndarray  # [n]

    def rows(self, rows: np.ndarray) -> _Level:
        return _Level(self.owner[rows], self.triples[rows], self.scores[rows])


def beam_search(
    index: TripleIndex,
    queries: np.ndarray,
    starts: Sequence[Sequence[int] | np.ndarray],
    settings: BeamSettings = PAPER_BEAM,
    score: SequenceScores | None = None,
) -> list[Beams]:
    """Sequences of triples that lead from each question's initial triples to their neighbors.

    A sequence's score is the sum over its prefixes of their cosine with the question, weighted for diversity at each
    step. Equal scores keep the order of the beams they extend, then that of the triples' numbers; initial triples are
    taken once each and by number. If no sequence of a question can be extended, Algorithm 1 would return nothing; here
    the question keeps the sequences it has.

    Args:
        queries: ``[q, d]`` unit vectors.
        starts: for each question the numbers of its initial triples; may be empty.
        score: scores of sequences; default: `MeanVectors`.
    """
    score = score or MeanVectors(index)
    level = _first(queries, starts, settings, score)
    found = [Beams(np.zeros((0, 1), dtype=np.int64), np.zeros(0))] * len(starts)
    while len(level.owner):
        for query in np.unique(level.owner):
            mine = level.rows(level.owner == query)
            found[query] = Beams(mine.triples, mine.scores)
        if level.triples.shape[1] == settings.length:
            break
        level = _best(_extended(index, queries, level, settings, score), settings.width)
    return found


def _first(
    queries: np.ndarray, starts: Sequence[Sequence[int] | np.ndarray], settings: BeamSettings, score: SequenceScores
) -> _Level:
    """Lines 1–5: the initial triples by their own score."""
    numbers = [np.unique(np.asarray(start, dtype=np.int64)) for start in starts]
    owner = np.repeat(np.arange(len(starts)), [len(some) for some in numbers])
    triples = np.concatenate([np.zeros(0, dtype=np.int64), *numbers])[:, None]
    return _best(_Level(owner, triples, score(queries, owner, triples)), settings.width)


def _best(level: _Level, width: int) -> _Level:
    """The `width` best of each question, best first."""
    rank = ranks(level.owner, level.scores)
    kept = np.flatnonzero(rank < width)
    return level.rows(kept[np.lexsort((rank[kept], level.owner[kept]))])


def _extended(
    index: TripleIndex, queries: np.ndarray, level: _Level, settings: BeamSettings, score: SequenceScores
) -> _Level:
    """Lines 7–19: every sequence with each neighbor of its last triple."""
    last = level.triples[:, -1]
    beam, triple = neighbor_pairs(index, last, level.owner, queries, max_kept=settings.neighbours, read=settings.read)
    seen = level.owner[:, None] * len(index) + level.triples  # exists(t, B): in any beam of the question
    new = ~np.isin(level.owner[beam] * len(index) + triple, seen)
    beam, triple = beam[new], triple[new]
    triples = np.concatenate([level.triples[beam], triple[:, None]], axis=1)
    scores = level.scores[beam] + score(queries, level.owner[beam], triples)
    rank = ranks(beam, scores)
    if settings.diverse:
        scores = scores * _weights(settings)[rank]
    order = np.lexsort((rank, beam))
    return _Level(level.owner[beam], triples, scores).rows(order)


def _weights(settings: BeamSettings) -> np.ndarray:
    """Line 18: exp(−min(n, γ)/γ) for the n-th best extension of a beam.

    As in the paper, the factor also applies to negative scores and raises them; with sentence vectors they are rare.
    """
    gamma = 2 * settings.width if settings.gamma is None else settings.gamma
    return np.exp(-np.minimum(np.arange(settings.neighbours), gamma) / gamma)
