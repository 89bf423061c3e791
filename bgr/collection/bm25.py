"""BM25 over counts on disk, right to the bit after every passage added or deleted.

Rows of which some are deleted: what is searched has places without gaps, what is on disk has not.

BM25 over a list of texts, by the package bm25s (Lucene's variant, k1 = 1.5, b = 0.75).

How often each word stands in each text: all that BM25 needs to know, whatever is added or deleted later.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate, chain
from pathlib import Path

import bm25s
import numpy as np

from bgr.collection.arrays import open_array, save_array
from bgr.collection.search import Hits, Search, best
from bgr.errors import DataError


class LiveRows:
    """Maps places (of what is left, in order) to rows (of all there ever was) and back.

    Args:
        rows: how many there are, deleted ones included.
        deleted: ``int64 [n]``, rising, each below `rows`.
    """

    def __init__(self, rows: int, deleted: np.ndarray | None = None) -> None:
        self.rows = rows
        self.deleted = np.zeros(0, dtype=np.int64) if deleted is None else deleted
        self._before = self.deleted - np.arange(len(self.deleted))  # places before each deleted row

    def __len__(self) -> int:
        return self.rows - len(self.deleted)

    def place_of(self, rows: np.ndarray) -> np.ndarray:
        """The places of rows that are not deleted, ``int64``, any shape."""
        return rows - np.searchsorted(self.deleted, rows)

    def row_of(self, places: np.ndarray) -> np.ndarray:
        """The rows of places, ``int64``, any shape."""
        return places + np.searchsorted(self._before, places, side="right")

    def live(self, rows: np.ndarray) -> np.ndarray:
        """Whether each row is not deleted, ``bool``, any shape."""
        if not len(self.deleted):
            return np.ones(rows.shape, dtype=bool)
        at = np.minimum(np.searchsorted(self.deleted, rows), len(self.deleted) - 1)
        return self.deleted[at] != rows

    def mask(self) -> np.ndarray:
        """``bool [rows]``, false where deleted."""
        mask = np.ones(self.rows, dtype=bool)
        mask[self.deleted] = False
        return mask


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
        return list(zip(hits.indices.tolist(), hits.scores.tolist(), strict=True))


class Bm25Search(Search):
    """BM25 over texts in memory; texts that share no word with the query score 0 and come last, by place."""

    def __init__(self, texts: Sequence[str]) -> None:
        self.texts = texts
        self.index = Bm25Index(texts)

    def __len__(self) -> int:
        return self.index.size

    def search_all(self, queries: Sequence[str], k: int) -> list[Hits]:
        """See `Search`."""
        return [best(self.index.scores(query), k) for query in queries]

    def subset(self, indices: np.ndarray) -> Bm25Search:
        """See `Search`; the statistics are those of the subset."""
        return Bm25Search([self.texts[index] for index in indices.tolist()])


def split_words(texts: Sequence[str]) -> list[list[str]]:
    """The words of each text that count, in order."""
    if not texts:
        return []
    return bm25s.tokenize(list(texts), lower=True, stopwords="english", return_ids=False, show_progress=False)


def number_words(texts: Sequence[str]) -> tuple[list[list[int]], list[str]]:
    """The same words as numbers into the vocabulary, and the vocabulary."""
    found = bm25s.tokenize(list(texts), lower=True, stopwords="english", return_ids=True, show_progress=False)
    return found.ids, list(found.vocab)


BLOCK = 10_000
"""Texts split into words at a time, which bounds the memory of their lists."""


@dataclass(frozen=True)
class WordCounts:
    """Counts of a list of texts.

    Args:
        words: in UTF-8.
        word: ``int32 [p]``, number of a word; a pair of word and text stands once.
        row: ``int32 [p]``, the text, rising within a word.
        count: ``int32 [p]``, how often the word stands in the text, 1 or more.
        lengths: ``int32 [n]``, words of each text.
    """

    words: list[bytes]
    word: np.ndarray
    row: np.ndarray
    count: np.ndarray
    lengths: np.ndarray


def count_words(texts: Sequence[str]) -> WordCounts:
    """Count a list of texts, of any length."""
    return merge([_count_block(texts[start : start + BLOCK]) for start in range(0, len(texts), BLOCK)])


def merge(parts: Sequence[WordCounts]) -> WordCounts:
    """The counts of the texts of all parts one after another; words and pairs in order of the words' bytes."""
    words = sorted(set(chain.from_iterable(part.words for part in parts)))
    number = {word: place for place, word in enumerate(words)}
    starts = [0, *accumulate(len(part.lengths) for part in parts)]
    none = np.zeros(0, dtype=np.int32)
    word = [np.array([number[w] for w in part.words], dtype=np.int32)[part.word] for part in parts]
    row = [part.row + np.int32(start) for part, start in zip(parts, starts, strict=False)]
    whole = np.concatenate([none, *word])
    order = np.argsort(whole, kind="stable")  # rows rise within a part's word, and parts follow one another
    return WordCounts(
        words,
        whole[order],
        np.concatenate([none, *row])[order],
        np.concatenate([none, *(part.count for part in parts)])[order],
        np.concatenate([none, *(part.lengths for part in parts)]),
    )


def keep_texts(counts: WordCounts, live: np.ndarray) -> WordCounts:
    """The counts of those texts alone for which ``live`` (``bool [n]``) is true."""
    kept = live[counts.row]
    row = (np.cumsum(live) - 1)[counts.row[kept]].astype(np.int32)
    used, word = np.unique(counts.word[kept], return_inverse=True)
    words = [counts.words[number] for number in used.tolist()]
    return WordCounts(words, word.astype(np.int32), row, counts.count[kept], counts.lengths[live])


def save_counts(folder: Path, counts: WordCounts) -> None:
    """Write counts in the order that `merge` gives them, as arrays of a folder that exists.

    Raises:
        DataError: the folder cannot be written.
    """
    starts = np.searchsorted(counts.word, np.arange(len(counts.words) + 1))
    save_array(folder / "words.npy", np.frombuffer(b"".join(counts.words), dtype=np.uint8))
    save_array(folder / "word_ends.npy", np.cumsum([len(word) for word in counts.words], dtype=np.int64))
    save_array(folder / "starts.npy", starts.astype(np.int64))
    save_array(folder / "rows.npy", counts.row)
    save_array(folder / "counts.npy", counts.count)
    save_array(folder / "lengths.npy", counts.lengths)


class CountsFolder:
    """Counts on disk; a look-up reads what it needs.

    Args:
        folder: written by `save_counts`.
        size: texts that it must hold.

    Raises:
        DataError: a file is missing, damaged, or does not fit the others.
    """

    def __init__(self, folder: Path, size: int) -> None:
        self.folder = folder
        self.ends = open_array(folder / "word_ends.npy", np.int64, (None,))
        self.starts = open_array(folder / "starts.npy", np.int64, (len(self.ends) + 1,))
        self.blob = open_array(folder / "words.npy", np.uint8, (int(self.ends[-1]) if len(self.ends) else 0,))
        pairs = int(self.starts[-1])
        self.rows = open_array(folder / "rows.npy", np.int32, (pairs,))
        self.counts = open_array(folder / "counts.npy", np.int32, (pairs,))
        self.lengths = open_array(folder / "lengths.npy", np.int32, (size,))

    def texts_with(self, word: bytes) -> tuple[np.ndarray, np.ndarray]:
        """The texts that hold a word, rising, and how often: ``int32 [p]`` each.

        Raises:
            DataError: the file names a text that there is not.
        """
        place = bisect_left(range(len(self.ends)), word, key=self._word)
        if place == len(self.ends) or self._word(place) != word:
            return self.rows[:0], self.counts[:0]
        at = slice(int(self.starts[place]), int(self.starts[place + 1]))
        rows = self.rows[at]
        if len(rows) and not 0 <= rows.min() <= rows.max() < len(self.lengths):
            raise DataError(f"{self.folder}/rows.npy: damaged (a text beyond the last); build the index again")
        return rows, self.counts[at]

    def load(self) -> WordCounts:
        """All of it, in memory."""
        words = [self._word(place) for place in range(len(self.ends))]
        word = np.repeat(np.arange(len(words), dtype=np.int32), np.diff(self.starts))
        return WordCounts(words, word, np.asarray(self.rows), np.asarray(self.counts), np.asarray(self.lengths))

    def _word(self, place: int) -> bytes:
        start = int(self.ends[place - 1]) if place else 0
        return self.blob[start : int(self.ends[place])].tobytes()


def _count_block(texts: Sequence[str]) -> WordCounts:
    numbers, words = number_words(texts)
    lengths = np.array([len(row) for row in numbers], dtype=np.int32)
    flat = np.fromiter(chain.from_iterable(numbers), dtype=np.int64, count=int(lengths.sum()))
    pairs, counts = np.unique(flat * len(texts) + np.repeat(np.arange(len(texts)), lengths), return_counts=True)
    word, row = np.divmod(pairs, max(len(texts), 1))
    encoded = [text.encode(errors="surrogatepass") for text in words]
    return WordCounts(encoded, word.astype(np.int32), row.astype(np.int32), counts.astype(np.int32), lengths)


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

    def search_all(self, queries: Sequence[str], k: int) -> list[Hits]:
        """See `Search`."""
        return [best(self.scores(query), k) for query in queries]

    def subset(self, indices: np.ndarray) -> CountedBm25Subset:
        """See `Search`; the statistics are those of the subset."""
        return CountedBm25Subset(self, self.live.row_of(indices))

    def scores(self, query: str) -> np.ndarray:
        """``float32 [texts]``, higher is better."""
        scores = np.zeros(self.live.rows, dtype=np.float32)
        for word in split_words([query])[0]:
            rows, scores_of_word = self._scores_of(word.encode(errors="surrogatepass"))
            scores[rows] += scores_of_word
        return scores[self.mask] if len(self.live.deleted) else scores

    def _scores_of(self, word: bytes) -> tuple[np.ndarray, np.ndarray]:
        """The rows that hold a word; of each ``idf · tf / (k1 · (1 − b + b · length / mean length) + tf)``."""
        rows, counts = self.texts_with(word)
        return rows, _word_scores(len(self), counts, self.norms[rows])

    def texts_with(self, word: bytes) -> tuple[np.ndarray, np.ndarray]:
        """The rows that hold a word, ascending, without deleted ones, and how often: ``[p]`` each."""
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
    def lengths(self) -> np.ndarray:
        """``int64 [rows]``, words of each text."""
        none = np.zeros(0, np.int32)
        return np.concatenate([none, *(segment.lengths for segment in self.segments)]).astype(np.int64)

    @cached_property
    def norms(self) -> np.ndarray:
        """``float64 [rows]``, the part of the formula that depends on the text alone; made for the first query."""
        return _norms(self.lengths, self.lengths[self.mask].sum() / max(len(self), 1))


class CountedBm25Subset(Search):
    """The scores of `Bm25Index` over some of the texts, from the counts of all.

    Args:
        whole: BM25 over all texts.
        rows: ``int64 [n]``, rows of `whole` that are not deleted, each once.
    """

    def __init__(self, whole: CountedBm25Search, rows: np.ndarray) -> None:
        self.whole = whole
        self.order = np.argsort(rows, kind="stable")
        self.rows = rows[self.order]
        lengths = whole.lengths[rows]
        self.norms = _norms(lengths, lengths.sum() / max(len(rows), 1))

    def __len__(self) -> int:
        return len(self.rows)

    def search_all(self, queries: Sequence[str], k: int) -> list[Hits]:
        """See `Search`."""
        return [best(self.scores(query), k) for query in queries]

    def scores(self, query: str) -> np.ndarray:
        """``float32 [texts]``, higher is better."""
        scores = np.zeros(len(self), dtype=np.float32)
        for word in split_words([query])[0]:
            rows, counts = self.whole.texts_with(word.encode(errors="surrogatepass"))
            if not len(rows):
                continue
            at = np.minimum(np.searchsorted(rows, self.rows), len(rows) - 1)
            hit = rows[at] == self.rows
            own = self.order[hit]
            scores[own] += _word_scores(len(self), counts[at[hit]], self.norms[own])
        return scores


def _norms(lengths: np.ndarray, mean: float) -> np.ndarray:
    return K1 * ((1 - B) + B * lengths / (mean or 1.0))  # no word anywhere: nothing to score


def _word_scores(texts: int, counts: np.ndarray, norms: np.ndarray) -> np.ndarray:
    """``idf · tf / (norm + tf)`` of the texts that hold a word, in the precision of bm25s."""
    idf = np.float32(math.log(1 + (texts - len(counts) + 0.5) / (len(counts) + 0.5)))
    return (np.float64(idf) * (counts / (norms + counts))).astype(np.float32)


def _joined(parts: list[np.ndarray], dtype: type[np.generic]) -> np.ndarray:
    """The parts one after another; a single one as it is."""
    return parts[0] if len(parts) == 1 else np.concatenate([np.zeros(0, dtype), *parts])
