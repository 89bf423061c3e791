"""Diverse triple beam search (paper, Algorithm 1), for all questions at once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from bgr.gear.neighbours import neighbour_pairs
from bgr.gear.ragged import ranks
from bgr.gear.scores import MeanVectors, SequenceScores
from bgr.gear.settings import PAPER_BEAM, BeamSettings
from bgr.triples.index import TripleIndex


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
    """Sequences of triples that lead from each question's initial triples to their neighbours.

    A sequence's score is the sum over its prefixes of their cosine with the question, weighted for diversity on the
    way. Equal scores keep the order of the beams they extend, then that of the triples' numbers; initial triples are
    taken once each and by number. Where no sequence of a question can be extended, Algorithm 1 would return nothing;
    here the question keeps the sequences it has.

    Args:
        index: the triples.
        queries: ``[q, d]`` unit vectors.
        starts: for each question the numbers of its initial triples; may be empty.
        settings: width, length and so on.
        score: of sequences; `MeanVectors` unless given.
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
    queries: np.ndarray,
    starts: Sequence[Sequence[int] | np.ndarray],
    settings: BeamSettings,
    score: SequenceScores,
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
    """Lines 7–19: every sequence with each neighbour of its last triple."""
    last = level.triples[:, -1]
    beam, triple = neighbour_pairs(index, last, level.owner, queries, most=settings.neighbours, read=settings.read)
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

    As in the paper the factor meets negative scores too, and raises them; with sentence vectors they are rare.
    """
    gamma = 2 * settings.width if settings.gamma is None else settings.gamma
    return np.exp(-np.minimum(np.arange(settings.neighbours), gamma) / gamma)
