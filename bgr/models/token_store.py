"""The token ids of many texts, on disk: read where a few thousand of half a million are needed for a question."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, Self

import numpy as np
import torch

from bgr.models.ragged import Rows
from bgr.models.truncation import tokenize
from bgr.utils.progress import progress_bar

CHUNK = 8_192


class TokenStore:
    """Token ids, ``uint16`` or ``int32 [total]``, and the first one of each text, ``int64 [n + 1]``."""

    def __init__(self, ids: np.ndarray, starts: np.ndarray) -> None:
        self.ids, self.starts = ids, starts

    def __len__(self) -> int:
        return len(self.starts) - 1

    @classmethod
    def of(cls, texts: Sequence[str], tokenizer: Any, *, max_tokens: int, progress: bool = False) -> Self:
        """Tokenize texts, with special tokens, each to at most `max_tokens`."""
        kind = np.uint16 if len(tokenizer) <= 1 << 16 else np.int32
        parts: list[np.ndarray] = []
        lengths: list[int] = []
        with progress_bar(len(texts), "tokens", "text", show=progress) as bar:
            for chunk in _chunks(texts):
                rows, _ = tokenize(tokenizer, chunk, max_tokens)
                lengths += map(len, rows)
                parts.append(np.array([token for row in rows for token in row], dtype=kind))
                bar.update(len(chunk))
        starts = np.concatenate([[0], np.cumsum(lengths, dtype=np.int64)]).astype(np.int64)
        return cls(np.concatenate(parts) if parts else np.zeros(0, kind), starts)

    def rows(self, texts: np.ndarray) -> Rows:
        """The given texts in the given order, without the numbers in them."""
        starts, lengths = self.starts[texts], np.diff(self.starts)[texts] if len(texts) > 1024 else None
        lengths = self.starts[texts + 1] - starts if lengths is None else lengths
        within = np.arange(int(lengths.sum())) - np.repeat(np.cumsum(lengths) - lengths, lengths)
        flat = torch.from_numpy(self.ids[np.repeat(starts, lengths) + within].astype(np.int64))
        return Rows(flat, torch.from_numpy(lengths.astype(np.int64)), flat, torch.full(flat.shape, float("nan")))

    def save(self, folder: Path) -> None:
        """Write to an existing folder."""
        np.save(folder / "ids.npy", self.ids, allow_pickle=False)
        np.save(folder / "starts.npy", self.starts, allow_pickle=False)

    @classmethod
    def open(cls, folder: Path) -> Self:
        """What `save` wrote, memory-mapped."""
        ids, starts = (np.load(folder / f"{name}.npy", mmap_mode="r", allow_pickle=False) for name in ("ids", "starts"))
        return cls(ids, starts)


def _chunks(texts: Iterable[str]) -> Iterator[list[str]]:
    chunk: list[str] = []
    for text in texts:
        chunk.append(text)
        if len(chunk) == CHUNK:
            yield chunk
            chunk = []
    if chunk:
        yield chunk
