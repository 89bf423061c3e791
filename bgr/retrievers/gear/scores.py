"""The score of a sequence of triples for a question, score(q, T) of Algorithm 1, for many sequences at once."""

from __future__ import annotations

from abc import ABC, abstractmethod

import numpy as np
import torch

from bgr.collection.triples.index import TripleIndex

CHUNK = 1024
"""Number of rows that are multiplied at once; they fit into the processor's cache."""


def take_rows(vectors: np.ndarray, numbers: np.ndarray) -> np.ndarray:
    """Some rows as float32; `vectors` may be memory-mapped. *Shape:* ``[n, d]``, ``[m]`` -> ``[m, d]``."""
    rows = np.asarray(np.take(vectors, numbers, axis=0))
    return torch.from_numpy(rows).float().numpy()  # converts in hardware, several times as fast as NumPy


def products(vectors: np.ndarray, numbers: np.ndarray, query: np.ndarray) -> np.ndarray:
    """Inner products of some rows with one vector. *Shape:* ``[n, d]``, ``[m]``, ``[d]`` -> ``float32 [m]``."""
    values = np.empty(len(numbers), dtype=np.float32)
    most = min(CHUNK, len(numbers))
    rows = np.empty((most, vectors.shape[1]), dtype=vectors.dtype)  # both are filled again and again:
    single = torch.empty(rows.shape)  # fresh memory would take longer than the work
    for start in range(0, len(numbers), CHUNK):
        part = numbers[start : start + CHUNK]
        np.take(vectors, part, axis=0, out=rows[: len(part)], mode="clip")  # "raise" would copy once more
        single.copy_(torch.from_numpy(rows))
        values[start : start + CHUNK] = single.numpy()[: len(part)] @ query
    return values


class SequenceScores(ABC):
    """Scores sequences of triples of one index."""

    def __init__(self, index: TripleIndex) -> None:
        self.index = index

    @abstractmethod
    def __call__(self, queries: np.ndarray, owner: np.ndarray, sequences: np.ndarray) -> np.ndarray:
        """Cosine of each sequence and its question.

        *Shape:* unit vectors ``[q, d]``, ``int [n]``, triple numbers ``int [n, length]`` -> ``float64 [n]``.
        """


class MeanVectors(SequenceScores):
    """The vector of a sequence is the mean of its triples' vectors, so nothing is encoded at query time.

    The paper uses `EncodedText` instead. For a single triple both are the same.
    """

    def __call__(self, queries: np.ndarray, owner: np.ndarray, sequences: np.ndarray) -> np.ndarray:
        scores = np.empty(len(sequences))
        for start in range(0, len(sequences), CHUNK):
            part = slice(start, start + CHUNK)
            rows = take_rows(self.index.vectors, sequences[part].ravel())
            sums = rows.reshape(*sequences[part].shape, -1).sum(axis=1)  # [n, length, d] -> [n, d]
            scores[part] = _cosine(sums, queries[owner[part]])
        return scores


class EncodedText(SequenceScores):
    """The encoder reads the sequence as text, one triple after the other (paper, section 4.2).

    Every distinct new sequence of a level is encoded, up to ``width × neighbours`` for each question.
    """

    def __call__(self, queries: np.ndarray, owner: np.ndarray, sequences: np.ndarray) -> np.ndarray:
        distinct, back = np.unique(sequences, axis=0, return_inverse=True)
        if sequences.shape[1] == 1:  # the index holds the encoder's vectors of these
            vectors = take_rows(self.index.vectors, distinct[:, 0])
        else:
            triples = self.index.triples
            vectors = self.index.encoder([". ".join(triples[int(n)].text for n in row) for row in distinct])
        scores = np.empty(len(sequences))
        for start in range(0, len(sequences), CHUNK):
            part = slice(start, start + CHUNK)
            scores[part] = _cosine(vectors[back.ravel()[part]], queries[owner[part]])
        return scores


def _cosine(vectors: np.ndarray, queries: np.ndarray) -> np.ndarray:
    """The cosine of each row with its unit vector; 0 where the row is 0."""
    lengths = np.sqrt(np.einsum("nd,nd->n", vectors, vectors))
    dots = np.einsum("nd,nd->n", vectors, queries)
    return np.divide(dots, lengths, out=np.zeros(len(dots)), where=lengths > 0)
