"""BM25 (Lucene's variant, k1 = 1.5, b = 0.75): by the package bm25s over texts in memory, or over counts on disk.

Counts do not change when texts are added or deleted. The scores of both are equal to the last bit.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Sequence
from functools import cached_property

import bm25s
import numpy as np

from bgr.collection.arrays import LiveRows
from bgr.collection.search import Hits, Search, best
from bgr.collection.word_counts import CountsFolder, split_words

K1, B = 1.5, 0.75
"""Constants of the formula, the defaults of bm25s."""


class ScoredSearch(Search):
    """A search that scores all texts. Texts without a word of the query score 0 and come last, by index."""

    @abstractmethod
    def scores(self, query: str) -> np.ndarray:
        """``float32 [texts]``, higher is better."""

    @abstractmethod
    def subset(self, indices: np.ndarray) -> ScoredSearch:
        """See `Search`; the statistics are those of the subset."""

    def count_texts(self, word: str) -> int:
        """The number of texts that have a word."""
        return int(np.count_nonzero(self.scores(word)))

    def search_all(self, queries: Sequence[str], k: int) -> list[Hits]:
        """See `Search`."""
        return [best(self.scores(query), k) for query in queries]


class Bm25Search(ScoredSearch):
    """BM25 over texts in memory. Words are lower-cased, of two letters or more, without English stop words."""

    def __init__(self, texts: Sequence[str]) -> None:
        self.texts = texts
        words = split_words(texts)
        self._index = None
        if any(words):  # bm25s cannot hold an empty vocabulary
            self._index = bm25s.BM25(k1=K1, b=B)
            self._index.index(words, show_progress=False)

    def __len__(self) -> int:
        return len(self.texts)

    def scores(self, query: str) -> np.ndarray:
        """``float32 [texts]``, higher is better."""
        words = split_words([query])[0]
        if self._index is None or not words:
            return np.zeros(len(self), dtype=np.float32)
        return self._index.get_scores(words)

    def top(self, query: str, k: int) -> list[tuple[int, float]]:
        """The `k` best texts (all if there are fewer) as ``(index, score)``, best first, equal scores by index."""
        hits = best(self.scores(query), k)
        return list(zip(hits.indices.tolist(), hits.scores.tolist(), strict=True))

    def subset(self, indices: np.ndarray) -> Bm25Search:
        """See `Search`; the statistics are those of the subset."""
        return Bm25Search([self.texts[index] for index in indices.tolist()])


class CountedBm25Search(ScoredSearch):
    """The scores of `Bm25Search` over the texts that are left, computed from counts for the words of each query.

    bm25s stores finished scores, all of which change with every text that is added or deleted, since they depend on the
    number of texts, their average length, and the number that contain a word. Here only counts are stored. The score is
    computed in the order and precision of bm25s.
    """

    def __init__(self, segments: Sequence[CountsFolder], live: LiveRows) -> None:
        self.segments = tuple(segments)
        self.live = live

    def __len__(self) -> int:
        return len(self.live)

    def subset(self, indices: np.ndarray) -> CountedBm25Subset:
        """See `Search`; the statistics are those of the subset."""
        return CountedBm25Subset(self, self.live.row_of(indices))

    def scores(self, query: str) -> np.ndarray:
        """``float32 [texts]``, higher is better."""
        scores = np.zeros(self.live.rows, dtype=np.float32)
        for word in split_words([query])[0]:
            rows, counts = self.texts_with(word)
            scores[rows] += _word_scores(len(self), counts, self.norms[rows])
        return scores[self.mask] if len(self.live.deleted) else scores

    def texts_with(self, word: str) -> tuple[np.ndarray, np.ndarray]:
        """The rows that contain a word, ascending, without deleted ones, and how often: ``[p]`` each."""
        start, rows, counts = 0, [], []
        for segment in self.segments:
            found, often = segment.texts_with(word.encode(errors="surrogatepass"))
            rows.append(found + np.int64(start))
            counts.append(often)
            start += len(segment.lengths)
        row, count = _joined(rows, np.int64), _joined(counts, np.int32)
        if not len(self.live.deleted):
            return row, count
        live = self.mask[row]
        return row[live], count[live]

    def count_texts(self, word: str) -> int:
        """See `ScoredSearch`."""
        return len(self.texts_with(word)[0])

    @cached_property
    def mask(self) -> np.ndarray:
        """``bool [rows]``, false where deleted."""
        return self.live.mask()

    @cached_property
    def lengths(self) -> np.ndarray:
        """``int64 [rows]``, number of words of each text."""
        return _joined([segment.lengths for segment in self.segments], np.int32).astype(np.int64)

    @cached_property
    def norms(self) -> np.ndarray:
        """``float64 [rows]``, the part of the formula that depends on the text alone."""
        return _norms(self.lengths, self.lengths[self.mask].sum() / max(len(self), 1))


class CountedBm25Subset(ScoredSearch):
    """The scores of `Bm25Search` over some of the texts, from the counts of all.

    `rows` is ``int64 [n]``, rows of `whole` that are not deleted, each once.
    """

    def __init__(self, whole: CountedBm25Search, rows: np.ndarray) -> None:
        self.whole = whole
        self.given = rows
        self.order = np.argsort(rows, kind="stable")
        self.rows = rows[self.order]
        lengths = whole.lengths[rows]
        self.norms = _norms(lengths, lengths.sum() / max(len(rows), 1))

    def __len__(self) -> int:
        return len(self.rows)

    def subset(self, indices: np.ndarray) -> CountedBm25Subset:
        """See `Search`; the statistics are those of the subset."""
        return CountedBm25Subset(self.whole, self.given[indices])

    def scores(self, query: str) -> np.ndarray:
        """``float32 [texts]``, higher is better."""
        scores = np.zeros(len(self), dtype=np.float32)
        for word in split_words([query])[0]:
            rows, counts = self.whole.texts_with(word)
            if not len(rows):
                continue
            at = np.minimum(np.searchsorted(rows, self.rows), len(rows) - 1)
            hit = rows[at] == self.rows
            own = self.order[hit]
            scores[own] += _word_scores(len(self), counts[at[hit]], self.norms[own])
        return scores


def _norms(lengths: np.ndarray, mean: float) -> np.ndarray:
    """``k1 · (1 − b + b · length / mean length)``."""
    return K1 * ((1 - B) + B * lengths / (mean or 1.0))  # no word anywhere: nothing to score


def _word_scores(texts: int, counts: np.ndarray, norms: np.ndarray) -> np.ndarray:
    """``idf · tf / (norm + tf)`` of the texts that contain a word, in the precision of bm25s."""
    idf = np.float32(math.log(1 + (texts - len(counts) + 0.5) / (len(counts) + 0.5)))
    return (np.float64(idf) * (counts / (norms + counts))).astype(np.float32)


def _joined(parts: list[np.ndarray], dtype: type[np.generic]) -> np.ndarray:
    """The concatenated parts; a single part is not copied."""
    return parts[0] if len(parts) == 1 else np.concatenate([np.zeros(0, dtype), *parts])
