"""Sentence vectors kept on disk chunk by chunk, so that an interrupted run goes on where it was."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import numpy as np
from tqdm import tqdm

from bgr.kept_chunks import KeptChunks, name_of

CHUNK = 4096
"""Sentences in a chunk: some seconds of work on a CPU, and enough to batch by length without much padding."""

VALUE = np.dtype("<f4")


class VectorStore:
    """An encoder that remembers: what it has encoded in whole chunks is read from the folder the next time.

    Sentences are encoded in chunks of fixed places in the list, whether something is on disk or not: which sentences
    share a batch, and so every bit of every vector, is then the same in an interrupted run as in one that was not. A
    chunk is kept under the hash of the encoder's key and of its sentences; one that is damaged is encoded again.

    Args:
        encoder: sentences to ``float32 [n, d]``.
        folder: where to keep the chunks; made when the first is written.
        key: names the encoder and all that decides its vectors, as `SentenceEncoder.fingerprint` does.
        chunk: sentences in a chunk.
        progress: show a bar on standard error.
    """

    def __init__(
        self,
        encoder: Callable[[Sequence[str]], np.ndarray],
        folder: str | Path,
        *,
        key: str,
        chunk: int = CHUNK,
        progress: bool = False,
    ) -> None:
        self.encoder = encoder
        self.kept = KeptChunks(folder, "vectors")
        self.key = key
        self.chunk = chunk
        self.progress = progress

    def __call__(self, texts: Sequence[str]) -> np.ndarray:
        """``float32 [n, d]``, one vector a text, in the order given.

        Raises:
            DataError: the folder cannot be written.
        """
        distinct = list(dict.fromkeys(texts))
        if not distinct:
            return self.encoder(distinct)
        vectors = np.empty((0, 0), dtype=np.float32)
        with tqdm(total=len(distinct), desc="encode", unit="sentence", disable=not self.progress) as bar:
            for start, part in self._chunks(distinct):
                rows = self._vectors(part)
                if not start:
                    vectors = np.empty((len(distinct), rows.shape[1]), dtype=np.float32)
                vectors[start : start + len(part)] = rows
                bar.update(len(part))
        if len(distinct) == len(texts):  # no second copy of what may be a gigabyte
            return vectors
        place = {text: row for row, text in enumerate(distinct)}
        return vectors[[place[text] for text in texts]]

    def clear(self) -> None:
        """Remove the chunks, and the folder if it holds nothing else."""
        self.kept.clear()

    def _chunks(self, texts: Sequence[str]) -> Iterator[tuple[int, Sequence[str]]]:
        for start in range(0, len(texts), self.chunk):
            yield start, texts[start : start + self.chunk]

    def _vectors(self, texts: Sequence[str]) -> np.ndarray:
        name = name_of(self.key, *texts)
        body = self.kept.load(name)
        if body and not len(body) % (len(texts) * VALUE.itemsize):
            return np.frombuffer(body, dtype=VALUE).reshape(len(texts), -1)
        found = self.encoder(texts)
        self.kept.save(name, np.ascontiguousarray(found, dtype=VALUE).tobytes())
        return found
