"""BM25 over counts on disk, right to the bit after every passage added or deleted."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cached_property

import numpy as np

from bgr.search.bm25 import K1, B, split_words
from bgr.search.interface import Hits, Search
from bgr.search.live_rows import LiveRows
from bgr.search.top import best
from bgr.search.word_counts import CountsFolder


class CountedBm25Search(Search):
    """The scores of `Bm25Index` over the texts that are left, computed for the words of a query when it comes.

    bm25s stores finished scores, and each passage added or deleted changes all of them: how many texts there are, how
    many hold the word, and how long the average text is. Here the counts are stored, which nothing changes; the
    score is computed as bm25s does, in the same order and precision. Texts without a word of the query score 0.

    Args:
        segments: counts of consecutive texts.
        live: which of all their texts are not deleted.
    """

    def __init__(self, segments: Sequence[CountsFolder], live: LiveRows) -> None:
        self.segments = tuple(segments)
        self.live = live

    def __len__(self) -> int:
        return len(self.live)

    def search(self, queries: Sequence[str], k: int) -> list[Hits]:
        """The `k` best texts for each query."""
        return [best(self.scores(query), k) for query in queries]

    def scores(self, query: str) -> np.ndarray:
        """``float32 [texts]``, higher is better."""
        scores = np.zeros(self.live.rows, dtype=np.float32)
        for word in split_words([query])[0]:
            rows, scores_of_word = self._scores_of(word.encode(errors="surrogatepass"))
            scores[rows] += scores_of_word
        return scores[self.mask] if len(self.live.deleted) else scores

    def _scores_of(self, word: bytes) -> tuple[np.ndarray, np.ndarray]:
        """The rows that hold a word, and of each ``idf · tf / (k1 · (1 − b + b · length / mean length) + tf)``."""
        rows, counts = self._texts_with(word)
        idf = np.float32(math.log(1 + (len(self) - len(rows) + 0.5) / (len(rows) + 0.5)))
        scores = np.float64(idf) * (counts / (self.norms[rows] + counts))
        return rows, scores.astype(np.float32)

    def _texts_with(self, word: bytes) -> tuple[np.ndarray, np.ndarray]:
        start, rows, counts = 0, [], []
        for segment in self.segments:
            found, often = segment.texts_with(word)
            rows.append(found + np.int64(start))
            counts.append(often)
            start += len(segment.lengths)
        row, count = _joined(rows, np.int64), _joined(counts, np.int32)
        if not len(self.live.deleted):
            return row, count
        live = self.mask[row]
        return row[live], count[live]

    @cached_property
    def mask(self) -> np.ndarray:
        """``bool [rows]``, false where deleted."""
        return self.live.mask()

    @cached_property
    def norms(self) -> np.ndarray:
        """``float64 [rows]``, the part of the formula that is the text's alone; computed at the first query."""
        none = np.zeros(0, np.int32)
        lengths = np.concatenate([none, *(segment.lengths for segment in self.segments)]).astype(np.int64)
        mean = lengths[self.mask].sum() / max(len(self), 1)
        return K1 * ((1 - B) + B * lengths / (mean or 1.0))  # no word anywhere: nothing to score


def _joined(parts: list[np.ndarray], dtype: type[np.generic]) -> np.ndarray:
    """The parts one after another; a single one as it is."""
    return parts[0] if len(parts) == 1 else np.concatenate([np.zeros(0, dtype), *parts])
