"""Search by sentence vectors."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from bgr.search.interface import Hits, Search
from bgr.search.vector_rows import VectorRows, check_unit

Encoder = Callable[[Sequence[str]], np.ndarray]
"""Texts to unit vectors, ``float32 [n, d]``; `SentenceEncoder` and `VectorStore` are such."""


class DenseSearch(Search):
    """The texts whose vectors have the largest inner product with the query's, exactly.

    Args:
        encoder: of the queries; the one that encoded the texts.
        vectors: of the texts.
    """

    def __init__(self, encoder: Encoder, vectors: VectorRows) -> None:
        self.encoder = encoder
        self.vectors = vectors

    @classmethod
    def of_texts(cls, texts: Sequence[str], encoder: Encoder) -> DenseSearch:
        """Encode the texts and keep their vectors in memory.

        Raises:
            ValueError: the encoder does not give one unit vector for each text.
        """
        vectors = check_unit(encoder(texts), len(texts), "texts")
        return cls(encoder, VectorRows([np.ascontiguousarray(vectors, dtype=np.float32)]))

    def __len__(self) -> int:
        return len(self.vectors)

    def search(self, queries: Sequence[str], k: int) -> list[Hits]:
        """The `k` best texts for each query; scores are cosines."""
        return self.vectors.nearest(self.encoder(queries), k) if queries else []
