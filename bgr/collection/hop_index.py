"""What a search hop by hop needs of a collection: the names in its texts, and their token ids.

Both are made when they are first needed. In a collection's folder they are kept in a folder of their own, whose name
has a hash of the texts and one of the tokenizer, so that what is found there is never out of date. The next change of
the collection removes what belongs to other texts.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import numpy as np
import torch
from filelock import FileLock, Timeout

from bgr.collection.corpus import Corpus
from bgr.collection.folder import HOPS_LOCK, hops_key
from bgr.collection.mentions import Mentions
from bgr.errors import DataError
from bgr.models.ragged import Rows
from bgr.models.truncation import tokenize
from bgr.utils.atomic_io import check_regular, output_folder, writing
from bgr.utils.checksums import first_damage
from bgr.utils.hashing import hash_texts
from bgr.utils.json_utils import one_line
from bgr.utils.progress import progress_bar

FORMAT = "3"
"""Format of the files, and of the rules by which names are found; raised when either changes."""

CHUNK = 8_192
"""Number of texts that are tokenized at a time."""


@dataclass(frozen=True)
class HopIndex:
    """The names of all texts and their token ids, for the same ``n`` texts in the same order."""

    mentions: Mentions
    tokens: TokenStore

    @classmethod
    def build(cls, corpus: Corpus, tokenizer: Any, *, max_tokens: int, progress: bool = False) -> Self:
        """Find names and token ids in memory; titles are names.

        Args:
            tokenizer: that of the models that read the texts.
            max_tokens: maximum number of tokens of a text, with special tokens.
            progress: show bars on standard error.
        """
        texts = [passage.whole for passage in corpus]
        titles = dict.fromkeys(passage.title for passage in corpus if passage.title)
        mentions = Mentions.build(texts, titles, progress=progress)
        return cls(mentions, TokenStore.of(texts, tokenizer, max_tokens=max_tokens, progress=progress))

    @classmethod
    def kept(
        cls,
        folder: Path,
        corpus: Corpus,
        tokenizer: Any,
        *,
        max_tokens: int,
        verify: bool = True,
        progress: bool = False,
    ) -> Self:
        """Open what is kept in a collection's folder, memory-mapped, or build it there.

        A build that is interrupted leaves nothing that counts. If another process is building, this one waits for it.

        Args:
            folder: of the collection.
            corpus: its texts.
            verify: compare the files with their hashes. For the other arguments see `build`.

        Raises:
            DataError: the folder cannot be written, or a file is damaged; the message says what to do.
        """
        home = folder / f"hops-{hops_key(corpus.hash)}-{_tokens_key(tokenizer, max_tokens)}"
        if not home.is_dir():
            with writing(folder), _building(folder):
                if not home.is_dir():  # else the other process has built it meanwhile
                    found = cls.build(corpus, tokenizer, max_tokens=max_tokens, progress=progress)
                    with output_folder(home) as work:
                        found.mentions.save(work)
                        found.tokens.save(work)
        if verify:
            check_hops(home)
        mentions, tokens = Mentions.open(home), TokenStore.open(home, words=len(tokenizer))
        if not len(mentions) == len(tokens) == len(corpus):
            counts = f"names of {len(mentions):,} texts, token ids of {len(tokens):,}, of {len(corpus):,}"
            raise DataError(f"{home}: damaged ({counts}); remove {home}, which is built again when it is needed")
        return cls(mentions, tokens)


def check_hops(home: Path) -> None:
    """Compare the files of a folder of names and token ids with their hashes, if it has any; DataError says what to
    do."""
    if problem := first_damage(home):
        raise DataError(f"{problem.partition(': ')[0]}: damaged; remove {home}, which is built again when it is needed")


def _tokens_key(tokenizer: Any, max_tokens: int) -> str:
    """A hash of all that token ids depend on, and of the format."""
    rules = json.loads(tokenizer.backend_tokenizer.to_str())
    # the lengths of the last call, which every call sets anew
    kept = {name: value for name, value in rules.items() if name not in ("truncation", "padding")}
    return hash_texts(FORMAT, json.dumps(kept, sort_keys=True), tokenizer.truncation_side, str(max_tokens))[:16]


@contextmanager
def _building(folder: Path) -> Iterator[None]:
    """Hold the lock of the process that builds; wait for another one."""
    lock = FileLock(folder / HOPS_LOCK)
    try:
        lock.acquire(timeout=0)
    except Timeout:
        print(f"{folder}: another process prepares this collection; waiting for it", file=sys.stderr)
        lock.acquire()
    try:
        yield
    finally:
        lock.release()


IDS, STARTS = "ids.npy", "starts.npy"


class TokenStore:
    """The token ids of many texts, mapped from the disk, since a question needs a few thousand of half a million.

    Ids ``[total]``, uint16 where the vocabulary fits and int32 otherwise, and ``starts int64 [n + 1]``: text ``i`` has
    the ids ``ids[starts[i] : starts[i + 1]]``.
    """

    def __init__(self, ids: np.ndarray, starts: np.ndarray) -> None:
        self.ids, self.starts = ids, starts

    def __len__(self) -> int:
        return len(self.starts) - 1

    @classmethod
    def of(cls, texts: Sequence[str], tokenizer: Any, *, max_tokens: int, progress: bool = False) -> Self:
        """Tokenize texts, with special tokens, each to at most `max_tokens`."""
        kind = np.uint16 if len(tokenizer) <= 1 << 16 else np.int32
        ids, lengths = [np.zeros(0, dtype=kind)], [np.zeros(1, dtype=np.int64)]
        with progress_bar(len(texts), "tokens", "text", show=progress) as bar:
            for chunk in _chunks(texts):
                rows, _ = tokenize(tokenizer, chunk, max_tokens)
                ids.append(np.array([token for row in rows for token in row], dtype=kind))
                lengths.append(np.array([len(row) for row in rows], dtype=np.int64))
                bar.update(len(chunk))
        return cls(np.concatenate(ids), np.cumsum(np.concatenate(lengths)))

    def rows(self, texts: np.ndarray) -> Rows:
        """The texts with the indices ``int64 [n]``, in the given order, without the numbers in them."""
        starts = self.starts[texts]
        lengths = self.starts[texts + 1] - starts
        within = np.arange(int(lengths.sum())) - np.repeat(np.cumsum(lengths) - lengths, lengths)
        flat = torch.from_numpy(self.ids[np.repeat(starts, lengths) + within].astype(np.int64))
        return Rows(flat, torch.from_numpy(lengths), flat, torch.full(flat.shape, float("nan")))

    def save(self, folder: Path) -> None:
        """Write to an existing folder; DataError if it cannot be written."""
        for name, array in ((IDS, self.ids), (STARTS, self.starts)):
            with writing(folder / name):
                np.save(folder / name, array, allow_pickle=False)

    @classmethod
    def open(cls, folder: Path, *, words: int) -> Self:
        """Open what `save` wrote, memory-mapped.

        Args:
            words: size of the vocabulary, which every id must be below.

        Raises:
            DataError: a file is missing or damaged, or the two do not fit together.
        """
        ids, starts = _open(folder / IDS, np.uint16, np.int32), _open(folder / STARTS, np.int64)
        fits = len(starts) > 0 and starts[0] == 0 and starts[-1] == len(ids) and (np.diff(starts) >= 0).all()
        if not fits or (len(ids) and not 0 <= ids.min() <= ids.max() < words):
            found = f"{IDS} and {STARTS} do not fit together, or a word is unknown"
            raise DataError(f"{folder}: damaged ({found}){_todo(folder)}")
        return cls(ids, starts)


def _open(path: Path, *kinds: type[np.generic]) -> np.ndarray:
    """A memory-mapped array ``[any]`` of one of the kinds; DataError if the file is missing or damaged."""
    check_regular(path)
    try:
        array = np.load(path, mmap_mode="r", allow_pickle=False)
    except Exception as error:  # a damaged header raises errors of Python's parser
        raise DataError(f"{path}: damaged or missing ({one_line(error)}){_todo(path.parent)}") from None
    if not isinstance(array, np.ndarray) or array.ndim != 1 or array.dtype not in kinds:
        wanted = " or ".join(kind.__name__ for kind in kinds)
        raise DataError(f"{path}: damaged (not an array [any] of {wanted}){_todo(path.parent)}")
    return array


def _todo(folder: Path) -> str:
    return f"; remove {folder}, which is built again when it is needed"


def _chunks(texts: Sequence[str]) -> Iterator[Sequence[str]]:
    for start in range(0, len(texts), CHUNK):
        yield texts[start : start + CHUNK]
