"""The neighbours of the last triples of all beams at once, over the index's CSR lists."""

from __future__ import annotations

import numpy as np

from bgr.gear.ragged import ranges, ranks
from bgr.gear.vectors import products
from bgr.triples.index import TripleIndex


def neighbour_pairs(
    index: TripleIndex, last: np.ndarray, owner: np.ndarray, queries: np.ndarray, *, most: int, read: int
) -> tuple[np.ndarray, np.ndarray]:
    """Triples that share the head or the tail entity with each beam's last triple (paper, section 4.2).

    The paper tries 100 neighbours of a beam and does not say which. Here they are those most similar to the question,
    by the triple's own vector, equal ones by number. Of an entity with more than `read` triples only the first `read`
    by number are looked at.

    Args:
        index: the triples.
        last: ``[m]`` the last triple of each beam.
        owner: ``[m]`` the question of each beam.
        queries: ``[q, d]`` unit vectors.
        most: neighbours of a beam that are kept.
        read: triples of an entity that are looked at.

    Returns:
        ``(beam, triple)``, each ``int64 [n]``, by beam and then by triple number; no triple is its own neighbour.
    """
    beam, triple = _sharing(index, last, read)
    many = (np.bincount(beam, minlength=len(last)) > most)[beam]  # only these beams' vectors need be read
    if not many.any():
        return beam, triple
    similar = _similarity(index, queries, owner[beam[many]], triple[many])
    kept = ~many
    kept[many] = ranks(beam[many], similar) < most
    return beam[kept], triple[kept]


def _sharing(index: TripleIndex, last: np.ndarray, read: int) -> tuple[np.ndarray, np.ndarray]:
    """All neighbours as sorted unique pairs ``(beam, triple)``."""
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
    """Cosine of question and triple for each pair; a pair that several beams share is computed once. `owner` rises."""
    keys, back = np.unique(owner * len(index) + triple, return_inverse=True)
    owner, triple = np.divmod(keys, len(index))
    values = np.empty(len(keys), dtype=np.float32)
    for query in np.unique(owner):
        first, last = np.searchsorted(owner, [query, query + 1])
        values[first:last] = products(index.vectors, triple[first:last], queries[query])
    return values[back]
