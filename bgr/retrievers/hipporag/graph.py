"""The graph of entities that HippoRAG walks on, and personalized PageRank on it (paper, sections 2.2 and 2.3)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import sparse

from bgr.collection.triples.index import TripleIndex
from bgr.collection.vectors import VectorRows

MAX_STEPS = 1000
"""Maximum steps of a walk; with a damping of 0.5, some thirty are enough for the default tolerance."""


@dataclass(frozen=True, eq=False)
class EntityGraph:
    """Entities, numbered as in the triple index; `e` entities, `p` passages.

    Args:
        rows: unit vectors of the names, ``[e, d]``.
        walk: ``float64 [e, e]``, the probability of a step from each entity (column) to each other one (row).
        mentions: ``float64 [p, e]``, the number of triples of each passage with each entity.
        passages: ``float64 [e]``, the number of passages of each entity.
    """

    rows: VectorRows
    walk: sparse.csr_matrix
    mentions: sparse.csr_matrix
    passages: np.ndarray

    @classmethod
    def of(cls, index: TripleIndex, passages: int, *, synonym: float, synonyms: int) -> EntityGraph:
        """The graph of an index over a number of passages. An edge has the number of triples between its entities as
        weight, plus the cosine of their names if it is above `synonym`."""
        names = [entity_name(index, entity) for entity in range(len(index.starts) - 1)]
        rows = VectorRows([np.ascontiguousarray(index.encoder(names), dtype=np.float32)])
        size = len(names)
        head, tail = np.asarray(index.head, dtype=np.int64), np.asarray(index.tail, dtype=np.int64)
        facts = _matrix(np.ones(len(head)), head, tail, (size, size))
        edges = facts + facts.T + _synonyms(rows, synonym, synonyms)
        edges.setdiag(0)
        edges.eliminate_zeros()
        total = np.asarray(edges.sum(axis=0)).ravel()
        walk = edges @ sparse.diags(np.divide(1, total, out=np.zeros(size), where=total > 0))
        other = tail != head  # an entity on both ends is one mention
        where = np.concatenate([index.passages, index.passages[other]])
        who = np.concatenate([head, tail[other]])
        mentions = _matrix(np.ones(len(who)), where, who, (passages, size))
        return cls(rows, walk.tocsr(), mentions, np.bincount(mentions.indices, minlength=size).astype(np.float64))

    def pagerank(self, restart: np.ndarray, *, damping: float, tolerance: float) -> np.ndarray:
        """The stationary distribution ``float64 [e]`` of a walk that takes an edge with probability `damping`, and else
        starts again from the distribution `restart`; it also does so where there is no edge."""
        probability = restart
        for _ in range(MAX_STEPS):
            step = damping * (self.walk @ probability)
            after = step + (1 - step.sum()) * restart
            change = np.abs(after - probability).sum()
            probability = after
            if change < tolerance:
                break
        return probability


def entity_name(index: TripleIndex, entity: int) -> str:
    """The name of an entity as in its first triple."""
    number = int(index.members[index.starts[entity]])
    triple = index.triples[number]
    return triple.subject if index.head[number] == entity else triple.object


def _matrix(values: np.ndarray, rows: np.ndarray, columns: np.ndarray, shape: tuple[int, int]) -> sparse.csr_matrix:
    return sparse.coo_matrix((values, (rows, columns)), shape=shape).tocsr()  # equal places are added up


def _synonyms(rows: VectorRows, least: float, count: int) -> sparse.csr_matrix:
    """The cosine of each pair of names that are nearest neighbors (of one of them at least) and above `least`."""
    size = len(rows)
    found = rows.nearest(rows.take(np.arange(size)), count + 1)  # also itself
    owner = np.repeat(np.arange(size), [len(hits.indices) for hits in found])
    other = np.concatenate([np.zeros(0, np.int64), *(hits.indices for hits in found)])
    cosine = np.concatenate([np.zeros(0, np.float32), *(hits.scores for hits in found)]).astype(np.float64)
    near = (cosine > least) & (owner != other)
    one_way = _matrix(cosine[near], owner[near], other[near], (size, size))
    return one_way.maximum(one_way.T).tocsr()
