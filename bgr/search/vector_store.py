"""Sentence vectors kept on disk chunk by chunk, so that an interrupted run goes on where it was."""

from __future__ import annotations

import hashlib
import os
import re
import tempfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import numpy as np
from tqdm import tqdm

from bgr.errors import DataError

CHUNK = 4096
"""Sentences in a chunk: some seconds of work on a CPU, and enough to batch by length without much padding."""

VALUE = np.dtype("<f4")
DIGEST = hashlib.sha256().digest_size

_OURS = re.compile(r"[0-9a-f]{64}\.vectors(\..*\.half)?")


class VectorStore:
    """An encoder that remembers: what it has encoded in whole chunks is read from the folder the next time.

    Sentences are encoded in chunks of fixed places in the list, whether something is on disk or not: which sentences
    share a batch, and so every bit of every vector, is then the same in an interrupted run as in one that was not. A
    chunk is kept under the hash of the encoder's key and of its sentences. A file takes its name only when it is
    whole; it holds the SHA-256 of its values before them, and one that is damaged is encoded again.

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
        self.folder = Path(folder)
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
        if not self.folder.is_dir():
            return
        for file in sorted(self.folder.iterdir()):
            if _OURS.fullmatch(file.name):
                file.unlink(missing_ok=True)
        if not any(self.folder.iterdir()):
            self.folder.rmdir()

    def _chunks(self, texts: Sequence[str]) -> Iterator[tuple[int, Sequence[str]]]:
        for start in range(0, len(texts), self.chunk):
            yield start, texts[start : start + self.chunk]

    def _vectors(self, texts: Sequence[str]) -> np.ndarray:
        file = self.folder / f"{self._name(texts)}.vectors"
        found = _load(file, len(texts))
        if found is None:
            found = self.encoder(texts)
            _save(file, found)
        return found

    def _name(self, texts: Sequence[str]) -> str:
        digest = hashlib.sha256()
        for text in (self.key, *texts):
            raw = text.encode(errors="surrogatepass")
            digest.update(len(raw).to_bytes(8, "little") + raw)  # with its length: ["ab"] is not ["a", "b"]
        return digest.hexdigest()


def _load(file: Path, count: int) -> np.ndarray | None:
    """The chunk, or ``None`` if it is not there or is damaged."""
    try:
        raw = file.read_bytes()
    except OSError:
        return None
    digest, body = raw[:DIGEST], raw[DIGEST:]
    if hashlib.sha256(body).digest() != digest or not body or len(body) % (count * VALUE.itemsize):
        return None
    return np.frombuffer(body, dtype=VALUE).reshape(count, -1)


def _save(file: Path, vectors: np.ndarray) -> None:
    body = np.ascontiguousarray(vectors, dtype=VALUE).tobytes()
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        handle, half = tempfile.mkstemp(prefix=f"{file.name}.", suffix=".half", dir=file.parent)
        with os.fdopen(handle, "wb") as out:
            out.write(hashlib.sha256(body).digest() + body)
        os.replace(half, file)
    except OSError as error:
        raise DataError(f"{file}: cannot be written: {error.strerror or error}") from None
