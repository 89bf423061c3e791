"""The token ids of many texts, on disk: read where a few thousand of half a million are needed for a question."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Self

import numpy as np
import torch

from bgr.errors import DataError
from bgr.models.ragged import Rows
from bgr.models.truncation import tokenize
from bgr.utils.atomic_io import check_regular, writing
from bgr.utils.json_utils import one_line
from bgr.utils.progress import progress_bar

CHUNK = 8_192
"""Number of texts that are tokenized at a time."""

IDS, STARTS = "ids.npy", "starts.npy"


class TokenStore:
    """Token ids ``[total]``, uint16 where the vocabulary fits and int32 otherwise, and ``starts int64 [n + 1]``: text
    ``i`` has the ids ``ids[starts[i] : starts[i + 1]]``."""

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
