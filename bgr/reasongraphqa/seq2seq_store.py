"""What a model worded, kept on disk chunk by chunk, so that an interrupted build goes on where it was."""

from __future__ import annotations

import hashlib
import json
import os
import re
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from bgr.errors import DataError

_OURS = re.compile(r"[0-9a-f]{64}\.sentences(\..*\.half)?")


class OutcomeStore:
    """One JSON file a chunk, under the hash of the key and of what was worded; a damaged file counts as none.

    Args:
        folder: made when the first chunk is kept.
        key: names the model and all that decides its sentences, so that no other's are taken.
    """

    def __init__(self, folder: str | Path, *, key: str) -> None:
        self.folder = Path(folder)
        self.key = key

    def load(self, names: Sequence[str]) -> list[dict[str, Any]] | None:
        """The records kept for exactly these names in this order, or ``None``."""
        try:
            digest, body = self._file(names).read_text(encoding="utf-8").split("\n", 1)
        except (OSError, ValueError):
            return None
        return json.loads(body) if _hash(body) == digest else None

    def save(self, names: Sequence[str], records: Sequence[Mapping[str, Any]]) -> None:
        """Keep a chunk; the file takes its name only when it is whole.

        Raises:
            DataError: the folder cannot be written.
        """
        file, body = self._file(names), json.dumps(records)
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            handle, half = tempfile.mkstemp(prefix=f"{file.name}.", suffix=".half", dir=self.folder)
            with os.fdopen(handle, "w", encoding="utf-8") as out:
                out.write(f"{_hash(body)}\n{body}")
            os.replace(half, file)
        except OSError as error:
            raise DataError(f"{file}: cannot be written: {error.strerror or error}") from None

    def clear(self) -> None:
        """Remove the chunks, and the folder if it holds nothing else."""
        if not self.folder.is_dir():
            return
        for file in sorted(self.folder.iterdir()):
            if _OURS.fullmatch(file.name):
                file.unlink(missing_ok=True)
        if not any(self.folder.iterdir()):
            self.folder.rmdir()

    def _file(self, names: Sequence[str]) -> Path:
        return self.folder / f"{_hash(json.dumps([self.key, *names]))}.sentences"


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
