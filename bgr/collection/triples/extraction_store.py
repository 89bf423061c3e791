"""What a language model found in passages, kept in one SQLite file, so that an interrupted extraction goes on."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bgr.collection.triples.triple import MalformedRowError, three_parts
from bgr.errors import DataError
from bgr.utils.json_utils import is_text, one_line

WAIT = 60
"""Seconds to wait for another process that writes to the file."""


@dataclass(frozen=True)
class Extraction:
    """What came of one passage.

    Args:
        id: of the passage, for those who look into the file.
        entities: the names.
        rows: the triples.
        left_out: rows of the reply that were no triples.
        failure: one line, why there is nothing; ``None`` where the passage is finished.
        answers: replies so far that could not be used.
    """

    id: str
    entities: tuple[str, ...] = ()
    rows: tuple[tuple[str, str, str], ...] = ()
    left_out: int = 0
    failure: str | None = None
    answers: int = 0


class ExtractionStore:
    """The extractions of a file, by key; made if it is not there.

    A record is whole or not there, however a process ends.

    Raises:
        DataError: the file, or its folder, cannot be read or written, or is something else.
    """

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        with self._errors():
            self.path.parent.mkdir(parents=True, exist_ok=True)
            self._file = sqlite3.connect(self.path, timeout=WAIT)
            self._file.execute("CREATE TABLE IF NOT EXISTS extractions (key TEXT PRIMARY KEY, body TEXT NOT NULL)")

    def __enter__(self) -> ExtractionStore:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()

    def get(self, key: str) -> Extraction | None:
        """What is kept under a key; ``None`` if nothing is, or nothing that can be read."""
        with self._errors():
            found = self._file.execute("SELECT body FROM extractions WHERE key = ?", (key,)).fetchone()
        return _extraction(found[0]) if found else None

    def put(self, extractions: Mapping[str, Extraction]) -> None:
        """Keep some, all or none of them. What is finished is never replaced by a failure."""
        with self._errors(), self._file:
            self._file.execute("BEGIN IMMEDIATE")
            kept = (key for key, one in extractions.items() if one.failure is None or not self._finished(key))
            self._file.executemany(
                "INSERT OR REPLACE INTO extractions VALUES (?, ?)",
                [(key, json.dumps(vars(extractions[key]))) for key in kept],
            )

    def _finished(self, key: str) -> bool:
        found = self.get(key)
        return found is not None and found.failure is None

    @contextmanager
    def _errors(self) -> Iterator[None]:
        try:
            yield
        except (sqlite3.Error, OSError) as error:
            raise DataError(f"{self.path}: not a file of extractions that can be used: {one_line(error)}") from None


def texts_of(values: Any) -> tuple[str, ...]:
    """The texts of a list that are not empty, each on one line and once; nothing where it is no list."""
    texts: Iterable[str] = (" ".join(v.split()) for v in values if is_text(v)) if isinstance(values, list) else ()
    return tuple(dict.fromkeys(text for text in texts if text))


def _extraction(body: Any) -> Extraction | None:
    """From the text of a record, which another program may have written."""
    try:
        record = json.loads(body)
        rows = tuple(three_parts(row) for row in record["rows"])
        failure, counts = record["failure"], (record["left_out"], record["answers"])
    except (ValueError, TypeError, KeyError, RecursionError, MalformedRowError):
        return None
    if not (failure is None or isinstance(failure, str)) or not all(type(count) is int for count in counts):
        return None
    return Extraction(str(record.get("id")), texts_of(record.get("entities")), rows, counts[0], failure, counts[1])
