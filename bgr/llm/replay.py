"""Replies kept on disk, so that a run can be repeated for nothing and an interrupted one goes on where it was."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path

from bgr.errors import BgrError, DataError
from bgr.llm.interface import Alternatives, Completion, Request
from bgr.utils.hashing import hash_text
from bgr.utils.json_utils import one_line

APPLICATION = 0x62677272
"""SQLite's `application_id`, which tells a replay cache from another database."""
FORMAT = 2
"""SQLite's `user_version`: of the tables and of the key."""
HEAD = b"SQLite format 3\0"
"""Begins every database of SQLite."""
WAIT = 60.0
"""Seconds to wait for another process that writes."""
WITH_FIRST = "first:"
"""Begins the key of a reply that is kept with the alternatives of its first token: its text holds both as JSON."""

_TABLE = """CREATE TABLE replies (
    key TEXT PRIMARY KEY, backend TEXT NOT NULL, step TEXT NOT NULL, text TEXT NOT NULL,
    tokens_in INTEGER NOT NULL, tokens_out INTEGER NOT NULL, cut INTEGER NOT NULL, seconds REAL NOT NULL
) WITHOUT ROWID"""
_FROM_1 = "ALTER TABLE replies ADD COLUMN seconds REAL NOT NULL DEFAULT 0"
"""Format 1 kept no seconds."""


class ReplayError(BgrError):
    """A reply that is not in the cache, where nothing but the cache may answer."""


def key_of(backend: str, request: Request) -> str:
    """SHA-256 of all that decides a reply. The step does not: two steps that ask the same get the same. The order of a
    schema's properties does: it is the order in which a constrained model writes them. Where log-probabilities are
    wanted their number counts too; other keys are as they were before there were any."""
    messages = [[message.role, message.content] for message in request.messages]
    parts = [backend, messages, request.schema, request.max_tokens, float(request.temperature), request.seed]
    parts += [request.top_logprobs] if request.top_logprobs else []
    digest = hash_text(json.dumps(parts, separators=(",", ":")))
    return WITH_FIRST + digest if request.top_logprobs else digest


class Replay:
    """One SQLite file. Several processes may read and write it at once; each reply is on disk when `keep` returns, and
    a process that is killed loses none of them.

    Args:
        path: of the file; made where it is missing, with the folders above it.
        replay_only: the file must be there, and a call that it does not hold is refused.

    Raises:
        DataError: the file is none of these caches, of a later format, or cannot be opened.
    """

    def __init__(self, path: str | Path, *, replay_only: bool = False) -> None:
        self.path, self.replay_only = Path(path), replay_only
        if replay_only and not self.path.is_file():
            raise DataError(f"{self.path}: no such file; a run without --replay-only makes it")
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            mode = "rw" if replay_only else "rwc"
            uri = f"{self.path.absolute().as_uri()}?mode={mode}"
            # every statement is a transaction of its own
            self._file = sqlite3.connect(uri, uri=True, timeout=WAIT, isolation_level=None)
        except (sqlite3.Error, OSError) as error:
            raise self._problem(error) from None
        try:
            self._check_head()
            self._prepare()
        except (sqlite3.Error, DataError) as error:
            self._file.close()
            raise error if isinstance(error, DataError) else self._problem(error) from None

    def get(self, key: str) -> Completion | None:
        """The reply kept under a key.

        Raises:
            DataError: the file cannot be read, or the row is damaged.
        """
        try:
            with closing(self._file.cursor()) as cursor:
                cursor.execute("SELECT text, tokens_in, tokens_out, cut, seconds FROM replies WHERE key = ?", (key,))
                row = cursor.fetchone()
        except sqlite3.Error as error:
            raise self._problem(error) from None
        if row is None:
            return None
        text, tokens_in, tokens_out, cut, seconds = row
        text, first = _unpacked(text) if key.startswith(WITH_FIRST) else (text, ())
        if not isinstance(text, str) or not all(isinstance(n, int) and n >= 0 for n in row[1:4]):
            raise DataError(f"{self.path}: the reply under {key[:16]}… is damaged; delete the file to ask again")
        return Completion(text, tokens_in, tokens_out, bool(cut), first, _seconds(seconds))

    def keep(self, key: str, backend: str, step: str, reply: Completion) -> Completion:
        """Write a reply; gives the one that is kept: another process may have been faster.

        Raises:
            DataError: the file cannot be written.
        """
        text = json.dumps([reply.text, reply.first]) if key.startswith(WITH_FIRST) else reply.text
        row = (key, backend, step, text, reply.tokens_in, reply.tokens_out, int(reply.cut), reply.seconds)
        try:
            with closing(self._file.cursor()) as cursor:
                cursor.execute("INSERT OR IGNORE INTO replies VALUES (?, ?, ?, ?, ?, ?, ?, ?)", row)
                written = cursor.rowcount == 1
        except sqlite3.Error as error:
            raise self._problem(error) from None
        return reply if written else self.get(key) or reply

    def __len__(self) -> int:
        """The number of replies."""
        with closing(self._file.cursor()) as cursor:
            return int(cursor.execute("SELECT COUNT(*) FROM replies").fetchone()[0])

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    def __enter__(self) -> Replay:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _check_head(self) -> None:
        """SQLite takes a file that is shorter than a page for an empty database, and would write over it."""
        with self.path.open("rb") as file:
            head = file.read(len(HEAD))
        if head and head != HEAD:
            raise DataError(f"{self.path}: cannot be used as a replay cache: file is not a database")

    def _prepare(self) -> None:
        """Make the table in an empty file; check any other."""
        if self._number("schema_version") == 0 and not self.replay_only:
            self._make()
        if self._number("application_id") != APPLICATION:
            raise DataError(f"{self.path}: a database, but no replay cache; name another file")
        if self._number("user_version") == 1:
            self._renew()
        if (found := self._number("user_version")) != FORMAT:
            raise DataError(f"{self.path}: a replay cache of format {found}, this version reads {FORMAT}")

    def _make(self) -> None:
        self._file.execute("BEGIN IMMEDIATE")
        if self._number("schema_version") == 0:  # no other process was faster
            self._file.execute(_TABLE)
            self._file.execute(f"PRAGMA application_id = {APPLICATION}")
            self._file.execute(f"PRAGMA user_version = {FORMAT}")
        self._file.execute("COMMIT")

    def _renew(self) -> None:
        self._file.execute("BEGIN IMMEDIATE")
        if self._number("user_version") == 1:  # no other process was faster
            self._file.execute(_FROM_1)
            self._file.execute(f"PRAGMA user_version = {FORMAT}")
        self._file.execute("COMMIT")

    def _number(self, pragma: str) -> int:
        return int(self._file.execute(f"PRAGMA {pragma}").fetchone()[0])

    def _problem(self, error: Exception) -> DataError:
        return DataError(f"{self.path}: cannot be used as a replay cache: {one_line(error)}")


def _seconds(value: object) -> float:
    """Seconds decide nothing: damaged ones are none."""
    return value if isinstance(value, float) and 0 <= value < float("inf") else 0.0


def _unpacked(packed: object) -> tuple[str | None, Alternatives]:
    """A reply's text and its first alternatives; no text where they are damaged."""
    try:
        text, first = json.loads(str(packed))
        return text, tuple((str(token), float(value)) for token, value in first)
    except (ValueError, TypeError, RecursionError):
        return None, ()
