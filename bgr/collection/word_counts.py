"""Counts of the words of each text, from which BM25 is computed after any additions and deletions."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate, chain
from pathlib import Path
from typing import Any

import bm25s
import numpy as np

from bgr.collection.arrays import open_array, save_array
from bgr.errors import DataError


def split_words(texts: Sequence[str]) -> list[list[str]]:
    """The words of each text in order, without stop words."""
    return _tokenized(texts, return_ids=False) if texts else []


def _tokenized(texts: Sequence[str], *, return_ids: bool) -> Any:
    return bm25s.tokenize(list(texts), lower=True, stopwords="english", return_ids=return_ids, show_progress=False)


BLOCK = 10_000
"""Number of texts that are split into words at a time, which bounds the memory."""


@dataclass(frozen=True)
class WordCounts:
    """Counts of a list of texts.

    Args:
        words: in UTF-8.
        word: ``int32 [p]``, number of a word; pairs of word and text are distinct.
        row: ``int32 [p]``, the text, ascending within a word.
        count: ``int32 [p]``, how often the word occurs in the text, 1 or more.
        lengths: ``int32 [n]``, number of words of each text.
    """

    words: list[bytes]
    word: np.ndarray
    row: np.ndarray
    count: np.ndarray
    lengths: np.ndarray


def count_words(texts: Sequence[str]) -> WordCounts:
    """Count the words of texts."""
    return merge([_count_block(texts[start : start + BLOCK]) for start in range(0, len(texts), BLOCK)])


def merge(parts: Sequence[WordCounts]) -> WordCounts:
    """The counts of the concatenated parts; words and pairs are in the order of the words' bytes."""
    words = sorted(set(chain.from_iterable(part.words for part in parts)))
    number = {word: index for index, word in enumerate(words)}
    starts = [0, *accumulate(len(part.lengths) for part in parts)]
    none = np.zeros(0, dtype=np.int32)
    word = [np.array([number[w] for w in part.words], dtype=np.int32)[part.word] for part in parts]
    row = [part.row + np.int32(start) for part, start in zip(parts, starts, strict=False)]
    whole = np.concatenate([none, *word])
    order = np.argsort(whole, kind="stable")  # rows ascend within a part's word, and parts follow one another
    return WordCounts(
        words,
        whole[order],
        np.concatenate([none, *row])[order],
        np.concatenate([none, *(part.count for part in parts)])[order],
        np.concatenate([none, *(part.lengths for part in parts)]),
    )


def keep_texts(counts: WordCounts, live: np.ndarray) -> WordCounts:
    """The counts of the texts for which ``live`` (``bool [n]``) is true."""
    kept = live[counts.row]
    row = (np.cumsum(live) - 1)[counts.row[kept]].astype(np.int32)
    used, word = np.unique(counts.word[kept], return_inverse=True)
    words = [counts.words[number] for number in used.tolist()]
    return WordCounts(words, word.astype(np.int32), row, counts.count[kept], counts.lengths[live])


def save_counts(folder: Path, counts: WordCounts) -> None:
    """Write counts of `merge` as arrays in an existing folder; DataError if it cannot be written."""
    starts = np.searchsorted(counts.word, np.arange(len(counts.words) + 1))
    save_array(folder / "words.npy", np.frombuffer(b"".join(counts.words), dtype=np.uint8))
    save_array(folder / "word_ends.npy", np.cumsum([len(word) for word in counts.words], dtype=np.int64))
    save_array(folder / "starts.npy", starts.astype(np.int64))
    save_array(folder / "rows.npy", counts.row)
    save_array(folder / "counts.npy", counts.count)
    save_array(folder / "lengths.npy", counts.lengths)


class CountsFolder:
    """Counts of `size` texts, as `save_counts` wrote them; DataError if a file is missing or damaged."""

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
        """The texts that contain a word, ascending, and how often: ``int32 [p]`` each; DataError for a damaged file."""
        index = bisect_left(range(len(self.ends)), word, key=self._word)
        if index == len(self.ends) or self._word(index) != word:
            return self.rows[:0], self.counts[:0]
        at = slice(int(self.starts[index]), int(self.starts[index + 1]))
        rows = self.rows[at]
        if len(rows) and not 0 <= rows.min() <= rows.max() < len(self.lengths):
            raise DataError(f"{self.folder}/rows.npy: damaged (a text beyond the last); build the collection again")
        return rows, self.counts[at]

    def load(self) -> WordCounts:
        """All counts, in memory."""
        words = [self._word(index) for index in range(len(self.ends))]
        word = np.repeat(np.arange(len(words), dtype=np.int32), np.diff(self.starts))
        return WordCounts(words, word, np.asarray(self.rows), np.asarray(self.counts), np.asarray(self.lengths))

    def _word(self, index: int) -> bytes:
        start = int(self.ends[index - 1]) if index else 0
        return self.blob[start : int(self.ends[index])].tobytes()


def _count_block(texts: Sequence[str]) -> WordCounts:
    found = _tokenized(texts, return_ids=True)
    lengths = np.array([len(row) for row in found.ids], dtype=np.int32)
    flat = np.fromiter(chain.from_iterable(found.ids), dtype=np.int64, count=int(lengths.sum()))
    pairs, counts = np.unique(flat * len(texts) + np.repeat(np.arange(len(texts)), lengths), return_counts=True)
    word, row = np.divmod(pairs, max(len(texts), 1))
    encoded = [text.encode(errors="surrogatepass") for text in found.vocab]
    return WordCounts(encoded, word.astype(np.int32), row.astype(np.int32), counts.astype(np.int32), lengths)
