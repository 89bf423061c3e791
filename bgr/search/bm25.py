"""BM25 over a list of texts, by the package bm25s (Lucene's variant, k1 = 1.5, b = 0.75)."""

from __future__ import annotations

from collections.abc import Sequence

import bm25s
import numpy as np


class Bm25Index:
    """Words are lower-cased, of two letters or more, English stop words left out.

    Texts may be empty, and so may the list: what shares no word with the query scores 0.
    """

    def __init__(self, texts: Sequence[str]) -> None:
        words = _words(texts)
        self.size = len(texts)
        self._index = None
        if any(words):  # bm25s cannot hold an empty vocabulary
            self._index = bm25s.BM25()
            self._index.index(words, show_progress=False)

    def scores(self, query: str) -> np.ndarray:
        """``[texts]`` float32, higher is better."""
        words = _words([query])[0]
        if self._index is None or not words:
            return np.zeros(self.size, dtype=np.float32)
        return self._index.get_scores(words)

    def top(self, query: str, k: int) -> list[tuple[int, float]]:
        """The `k` best texts (all if there are fewer) as ``(place, score)``, best first, ties by place."""
        scores = self.scores(query)
        best = np.argsort(-scores, kind="stable")[:k]
        return [(int(place), float(scores[place])) for place in best]


def _words(texts: Sequence[str]) -> list[list[str]]:
    if not texts:
        return []
    return bm25s.tokenize(list(texts), lower=True, stopwords="english", return_ids=False, show_progress=False)
