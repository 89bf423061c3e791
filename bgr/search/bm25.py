"""BM25 over a list of texts, by the package bm25s (Lucene's variant, k1 = 1.5, b = 0.75)."""

from __future__ import annotations

from collections.abc import Sequence

import bm25s
import numpy as np

from bgr.search.interface import Hits, Search
from bgr.search.top import best

K1, B = 1.5, 0.75
"""The formula's constants, those that bm25s has by default."""


class Bm25Index:
    """Words are lower-cased, of two letters or more, English stop words left out.

    Texts may be empty, and so may the list: what shares no word with the query scores 0.
    """

    def __init__(self, texts: Sequence[str]) -> None:
        words = split_words(texts)
        self.size = len(texts)
        self._index = None
        if any(words):  # bm25s cannot hold an empty vocabulary
            self._index = bm25s.BM25(k1=K1, b=B)
            self._index.index(words, show_progress=False)

    def scores(self, query: str) -> np.ndarray:
        """``[texts]`` float32, higher is better."""
        words = split_words([query])[0]
        if self._index is None or not words:
            return np.zeros(self.size, dtype=np.float32)
        return self._index.get_scores(words)

    def top(self, query: str, k: int) -> list[tuple[int, float]]:
        """The `k` best texts (all if there are fewer) as ``(place, score)``, best first, ties by place."""
        hits = best(self.scores(query), k)
        return list(zip(hits.places.tolist(), hits.scores.tolist(), strict=True))


class Bm25Search(Search):
    """BM25 over texts in memory; texts that share no word with the query score 0 and come last, by place."""

    def __init__(self, texts: Sequence[str]) -> None:
        self.index = Bm25Index(texts)

    def __len__(self) -> int:
        return self.index.size

    def search(self, queries: Sequence[str], k: int) -> list[Hits]:
        """The `k` best texts for each query."""
        return [best(self.index.scores(query), k) for query in queries]


def split_words(texts: Sequence[str]) -> list[list[str]]:
    """The words of each text that count, in order."""
    if not texts:
        return []
    return bm25s.tokenize(list(texts), lower=True, stopwords="english", return_ids=False, show_progress=False)


def number_words(texts: Sequence[str]) -> tuple[list[list[int]], list[str]]:
    """The same words as numbers into the vocabulary, and the vocabulary."""
    found = bm25s.tokenize(list(texts), lower=True, stopwords="english", return_ids=True, show_progress=False)
    return found.ids, list(found.vocab)
