"""Replay cache: replies on disk, so that a run can be repeated at no cost and an interrupted run can be resumed."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any
from weakref import finalize

from bgr.errors import BgrError, DataError
from bgr.llm.interface import Completion, Request
from bgr.llm.packed import COLUMNS, MAGIC, WITH_FIRST, alternatives_of, read_packed
from bgr.utils.cache import check_schema, close_whole, commit_quickly
from bgr.utils.hashing import hash_text
from bgr.utils.json_utils import one_line

APPLICATION = 0x62677272
"""SQLite's `application_id`, which distinguishes a replay cache from other databases."""
FORMAT = 4
"""SQLite's `user_version`: version of the table and of the key."""
HEAD = b"SQLite format 3\0"
WAIT = 60.0
"""Seconds to wait for another process to write."""
_TABLE = """CREATE TABLE replies (
    key TEXT PRIMARY KEY, backend TEXT NOT NULL, step TEXT NOT NULL, text TEXT NOT NULL,
    tokens_in INTEGER NOT NULL, tokens_out INTEGER NOT NULL, cut INTEGER NOT NULL, seconds REAL NOT NULL,
    clipped INTEGER NOT NULL, digest TEXT NOT NULL
) WITHOUT ROWID"""
_INSERT = f"INSERT OR IGNORE INTO replies VALUES ({', '.join('?' * (len(COLUMNS) + 1))})"
_FROM_1 = "ALTER TABLE replies ADD COLUMN seconds REAL NOT NULL DEFAULT 0"
"""Format 1 had no seconds."""
_FROM_2 = "ALTER TABLE replies ADD COLUMN clipped INTEGER NOT NULL DEFAULT 0"
"""Format 2 did not say whether a prompt was truncated."""
_FROM_3 = "ALTER TABLE replies ADD COLUMN digest TEXT NOT NULL DEFAULT ''"
"""Format 3 had no hashes; its replies are read unchecked."""


class ReplayError(BgrError):
    """A reply is not in the cache in replay-only mode."""


def key_of(backend: str, request: Request) -> str:
    """SHA-256 of everything that determines a reply, which the step does not.

    The order of a schema's properties is included, because a constrained model generates them in this order, and the
    number of log-probabilities only if it is not 0, so that older keys stay valid.
    """
    messages = [[message.role, message.content] for message in request.messages]
    parts = [backend, messages, request.schema, request.max_tokens, float(request.temperature), request.seed]
    parts += [request.top_logprobs] if request.top_logprobs else []
    digest = hash_text(json.dumps(parts, separators=(",", ":")))
    return WITH_FIRST + digest if request.top_logprobs else digest


class Replay:
    """A cache of replies in one SQLite file, which several processes may read and write at once, but in each process
    one thread at a time.

    Each reply is in the file or its log when `put` returns, so a process that is killed loses none of them.

    The file is created if it is missing. With `replay_only` it must exist, and calls without a cached reply are
    refused; it may then also be a packed file (`bgr.llm.packed`), which is read into memory.

    Raises:
        DataError: the file is not a replay cache, has a later format, or cannot be opened.
    """

    def __init__(self, path: str | Path, *, replay_only: bool = False) -> None:
        self.path, self.replay_only = Path(path), replay_only
        if replay_only and not self.path.is_file():
            raise DataError(f"{self.path}: no such file; a run without --replay-only creates it")
        if self._is_packed():
            self._file = self._unpacked()
            self._closing = finalize(self, close_whole, self._file)
            return
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            uri = f"{self.path.absolute().as_uri()}?mode={'rw' if replay_only else 'rwc'}"
            # every statement is its own transaction
            self._file = sqlite3.connect(uri, uri=True, timeout=WAIT, isolation_level=None, check_same_thread=False)
        except (sqlite3.Error, OSError) as error:
            raise self._problem(error) from None
        try:
            self._check_head()
            self._prepare()
            if not replay_only:
                commit_quickly(self._file)
        except (sqlite3.Error, DataError) as error:
            self._file.close()
            raise error if isinstance(error, DataError) else self._problem(error) from None
        self._closing = finalize(self, close_whole, self._file)  # at the latest when Python ends

    def get(self, key: str) -> Completion | None:
        """The reply with the given key, if any; DataError if the file cannot be read or the row is damaged."""
        select = "SELECT text, tokens_in, tokens_out, cut, clipped, seconds, digest FROM replies WHERE key = ?"
        try:
            row = self._file.execute(select, (key,)).fetchone()
        except sqlite3.Error as error:
            raise self._problem(error) from None
        if row is None:
            return None
        text, tokens_in, tokens_out, cut, clipped, seconds, digest = row
        intact = digest == "" or digest == _digest(key, *row[:5])
        text, first = alternatives_of(text) if key.startswith(WITH_FIRST) else (text, ())
        if not intact or not isinstance(text, str) or not all(isinstance(n, int) and n >= 0 for n in row[1:5]):
            raise self._damaged(key)
        # seconds do not affect results, so a damaged value is replaced
        seconds = seconds if isinstance(seconds, float) and 0 <= seconds < float("inf") else 0.0
        return Completion(text, tokens_in, tokens_out, bool(cut), first, seconds, bool(clipped))

    def put(self, key: str, backend: str, step: str, reply: Completion) -> Completion:
        """Write a reply and return the one in the cache, since another process may have been faster.

        Raises:
            DataError: the file cannot be written.
        """
        text = json.dumps([reply.text, reply.first]) if key.startswith(WITH_FIRST) else reply.text
        counts = (reply.tokens_in, reply.tokens_out, int(reply.cut), reply.seconds, int(reply.clipped))
        try:
            insert = self._file.execute(_INSERT, _with_digest((key, backend, step, text, *counts)))
        except sqlite3.Error as error:
            raise self._problem(error) from None
        return reply if insert.rowcount == 1 else self.get(key) or reply

    def rows(self) -> Iterator[tuple[Any, ...]]:
        """All replies in the order of their keys, each with its `COLUMNS`; DataError if the file cannot be read, or a
        reply is damaged."""
        try:
            for *row, digest in self._file.execute(f"SELECT {', '.join(COLUMNS)}, digest FROM replies ORDER BY key"):
                if digest not in ("", _with_digest(row)[-1]):
                    raise self._damaged(row[0])
                yield tuple(row)
        except sqlite3.Error as error:
            raise self._problem(error) from None

    def add(self, rows: Iterable[Sequence[Any]]) -> None:
        """Write `rows` at once; DataError if the file cannot be written."""
        try:
            self._file.execute("BEGIN")
            self._file.executemany(_INSERT, map(_with_digest, rows))
            self._file.execute("COMMIT")
        except sqlite3.Error as error:
            raise self._problem(error) from None

    def __len__(self) -> int:
        """The number of replies."""
        return int(self._file.execute("SELECT COUNT(*) FROM replies").fetchone()[0])

    def add_all(self, other: Replay) -> None:
        """Copy the replies of another cache that this one lacks, all of them or none; DataError if that fails."""
        try:
            rows = other._file.execute("SELECT * FROM replies").fetchall()
            self._file.execute("BEGIN IMMEDIATE")
            self._file.executemany(_INSERT, rows)
            self._file.execute("COMMIT")
        except sqlite3.Error as error:
            raise self._problem(error) from None

    def _damaged(self, key: str) -> DataError:
        problem = f"the reply under {str(key)[:16]}… is damaged; delete the file to request all replies again"
        return DataError(f"{self.path}: {problem}")

    def close(self) -> bool:
        """Close the file, and return whether no other process has it open."""
        return bool(self._closing())

    def __enter__(self) -> Replay:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _is_packed(self) -> bool:
        """Whether the file is a packed one, to which nothing can be added."""
        try:
            with self.path.open("rb") as file:
                packed = file.read(len(MAGIC)) == MAGIC
        except OSError:  # none, or one that SQLite cannot open either
            return False
        if packed and not self.replay_only:
            raise DataError(f"{self.path}: packed replies are only read: give --replay-only, or bgr llm unpack them")
        return packed

    def _unpacked(self) -> sqlite3.Connection:
        """The replies of a packed file in memory."""
        file = sqlite3.connect(":memory:", isolation_level=None, check_same_thread=False)
        file.execute(_TABLE)
        file.executemany(_INSERT, map(_with_digest, read_packed(self.path)))
        return file

    def _check_head(self) -> None:
        """Check the first bytes, because SQLite would overwrite a file that is shorter than a page."""
        with self.path.open("rb") as file:
            head = file.read(len(HEAD))
        if head and head != HEAD:
            raise DataError(f"{self.path}: cannot be used as a replay cache: file is not a database")

    def _prepare(self) -> None:
        """Create the table in an empty file; check any other file."""
        if not self.replay_only:
            self._migrate("schema_version", 0, _TABLE, f"PRAGMA application_id = {APPLICATION}")
        if self._number("application_id") != APPLICATION:
            raise DataError(f"{self.path}: a database, but not a replay cache; give another file")
        check_schema(self._file, "replies")
        self._migrate("user_version", 1, _FROM_1, _FROM_2, _FROM_3)
        self._migrate("user_version", 2, _FROM_2, _FROM_3)
        self._migrate("user_version", 3, _FROM_3)
        if (found := self._number("user_version")) != FORMAT:
            raise DataError(f"{self.path}: a replay cache of format {found}; this version reads format {FORMAT}")

    def _migrate(self, pragma: str, old: int, *statements: str) -> None:
        """Bring a file whose `pragma` has the value `old` to the current format."""
        if self._number(pragma) == old:
            self._file.execute("BEGIN IMMEDIATE")
            if self._number(pragma) == old:  # no other process was faster
                for statement in (*statements, f"PRAGMA user_version = {FORMAT}"):
                    self._file.execute(statement)
            self._file.execute("COMMIT")

    def _number(self, pragma: str) -> int:
        return int(self._file.execute(f"PRAGMA {pragma}").fetchone()[0])

    def _problem(self, error: Exception) -> DataError:
        return DataError(f"{self.path}: cannot be used as a replay cache: {one_line(error)}")


def _with_digest(row: Sequence[Any]) -> tuple[Any, ...]:
    """The values of `COLUMNS` and their hash."""
    key, _, _, text, tokens_in, tokens_out, cut, _, clipped = row
    return (*row, _digest(key, text, tokens_in, tokens_out, cut, clipped))


def _digest(*values: object) -> str:
    """Hash of a row's key and of all that affects results; SQLite itself has no checksums."""
    return hash_text(repr(values))
