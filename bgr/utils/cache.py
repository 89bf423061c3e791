"""Pieces of finished work kept on disk, so that an interrupted run goes on where it was."""

from __future__ import annotations

import hashlib
import os
import re
import tempfile
from pathlib import Path

from bgr.errors import DataError

DIGEST = hashlib.sha256().digest_size


class KeptChunks:
    """Files of one kind in a folder, each named by a hash of what it was made of.

    A file takes its name only when it is whole; it holds the SHA-256 of its content before it, and one that is damaged
    counts as none.

    Args:
        folder: made when the first chunk is kept.
        kind: ending of the file names.
    """

    def __init__(self, folder: str | Path, kind: str) -> None:
        self.folder = Path(folder)
        self.kind = kind

    def load(self, name: str) -> bytes | None:
        """What is kept under a name; ``None`` if nothing is, or if it is damaged."""
        try:
            raw = self._file(name).read_bytes()
        except OSError:
            return None
        digest, body = raw[:DIGEST], raw[DIGEST:]
        return body if hashlib.sha256(body).digest() == digest else None

    def save(self, name: str, body: bytes) -> None:
        """Keep a chunk.

        Raises:
            DataError: the folder cannot be written.
        """
        file = self._file(name)
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            handle, half = tempfile.mkstemp(prefix=f"{file.name}.", suffix=".half", dir=self.folder)
            with os.fdopen(handle, "wb") as out:
                out.write(hashlib.sha256(body).digest() + body)
            os.replace(half, file)
        except OSError as error:
            raise DataError(f"{file}: cannot be written: {error.strerror or error}") from None

    def clear(self) -> None:
        """Remove the chunks, and the folder if it holds nothing else."""
        if not self.folder.is_dir():
            return
        ours = re.compile(rf"[0-9a-f]{{64}}\.{self.kind}(\..*\.half)?")
        for file in sorted(self.folder.iterdir()):
            if ours.fullmatch(file.name):
                file.unlink(missing_ok=True)
        if not any(self.folder.iterdir()):
            self.folder.rmdir()

    def _file(self, name: str) -> Path:
        return self.folder / f"{name}.{self.kind}"


def name_of(*parts: str) -> str:
    """A chunk's name: the SHA-256 of texts, each with its length, so that ``ab`` is not ``a``, ``b``."""
    digest = hashlib.sha256()
    for part in parts:
        raw = part.encode(errors="surrogatepass")
        digest.update(len(raw).to_bytes(8, "little") + raw)
    return digest.hexdigest()
