"""What a model worded, kept on disk chunk by chunk, so that an interrupted build goes on where it was."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from bgr.kept_chunks import KeptChunks, name_of


class OutcomeStore:
    """Records as JSON, a chunk under the hash of the key and of what was worded.

    Args:
        folder: made when the first chunk is kept.
        key: names the model and all that decides its sentences, so that no other's are taken.
    """

    def __init__(self, folder: str | Path, *, key: str) -> None:
        self.key = key
        self.kept = KeptChunks(folder, "sentences")

    def load(self, names: Sequence[str]) -> list[dict[str, Any]] | None:
        """The records kept for exactly these names in this order, or ``None``."""
        body = self.kept.load(name_of(self.key, *names))
        return None if body is None else json.loads(body)

    def save(self, names: Sequence[str], records: Sequence[Mapping[str, Any]]) -> None:
        """Keep a chunk.

        Raises:
            DataError: the folder cannot be written.
        """
        self.kept.save(name_of(self.key, *names), json.dumps(records).encode())

    def clear(self) -> None:
        """Remove the chunks, and the folder if it holds nothing else."""
        self.kept.clear()
