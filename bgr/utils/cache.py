"""Finished work on disk: chunks of a cache, so that an interrupted run resumes where it stopped, and SQLite files that
are written row by row.
"""

from __future__ import annotations

import hashlib
import os
import re
import sqlite3
import tempfile
import time
from contextlib import suppress
from pathlib import Path

from bgr.utils.atomic_io import new_file
from bgr.utils.json_utils import repr_short

DIGEST = hashlib.sha256().digest_size
STALE = 3600
"""Seconds after which nobody writes an unfinished file any more."""


def cache_folder() -> Path | None:
    """The folder for work that all runs share: the environment variable ``BGR_CACHE``, or ``~/.cache/bgr``; ``None``
    if there is no home folder."""
    if chosen := os.environ.get("BGR_CACHE"):
        return Path(chosen)
    home = Path(os.path.expanduser("~"))  # Path.expanduser would raise
    return home / ".cache" / "bgr" if home.is_absolute() else None


def writable_folder(folder: Path) -> str:
    """Create a folder, and return why no file can be created in it; an empty string if it can."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            return ""
    except OSError as error:
        return error.strerror or str(error)


class ChunkCache:
    """Files of one kind in a folder, each named by a hash of its inputs (`bgr.utils.hashing.hash_texts`).

    A file begins with the SHA-256 of its content; a damaged file counts as missing.

    The folder is created when the first chunk is saved; `kind` is the ending of the file names.
    """

    def __init__(self, folder: str | Path, kind: str) -> None:
        self.folder = Path(folder)
        self.kind = kind

    def load(self, name: str) -> bytes | None:
        """The chunk of a name; ``None`` if it is missing or damaged."""
        try:
            raw = self._file(name).read_bytes()
        except OSError:
            return None
        digest, body = raw[:DIGEST], raw[DIGEST:]
        return body if hashlib.sha256(body).digest() == digest else None

    def save(self, name: str, body: bytes) -> None:
        """Write a chunk; DataError if the folder cannot be written."""
        with new_file(self._file(name), parents=True) as file:
            for half in self.folder.glob(f".{name}.{self.kind}.*.half"):
                if half != file and half.stat().st_mtime < time.time() - STALE:
                    half.unlink(missing_ok=True)  # of a process that was killed
            file.write_bytes(hashlib.sha256(body).digest() + body)

    def clear(self) -> None:
        """Remove the chunks, and the folder if it holds nothing else."""
        if not self.folder.is_dir():
            return
        ours = re.compile(rf"\.?[0-9a-f]{{64}}\.{self.kind}(\..*\.half)?")
        for file in sorted(self.folder.iterdir()):
            if ours.fullmatch(file.name):
                file.unlink(missing_ok=True)
        if not any(self.folder.iterdir()):
            self.folder.rmdir()

    def _file(self, name: str) -> Path:
        return self.folder / f"{name}.{self.kind}"


def check_schema(file: sqlite3.Connection, table: str) -> None:
    """Refuse a database with anything but this table and its columns: views, triggers and computed columns of somebody
    else would run when it is read or written, without an end if they wish.

    Raises:
        sqlite3.DatabaseError: it has something else, or is not a database.
    """
    for kind, name, sql in file.execute("SELECT type, name, sql FROM sqlite_schema"):
        own = sql is None if kind == "index" else name == table and str(sql).startswith("CREATE TABLE")
        if not own:
            raise sqlite3.DatabaseError(f"it has the {kind} {repr_short(name)}, allowed: the table {table}")
    for _, column, *_, hidden in file.execute(f"PRAGMA table_xinfo({table})"):
        if hidden:
            raise sqlite3.DatabaseError(f"the column {repr_short(column)} is computed")


def commit_quickly(file: sqlite3.Connection) -> None:
    """Keep what is committed in a write-ahead log (``-wal`` beside the file), which is not flushed each time.

    A commit then takes microseconds instead of 5 to 40 ms, during which other calls would wait. A process that is
    killed loses nothing; if the machine loses power, the last commits may be lost, but the file stays whole.
    """
    with suppress(sqlite3.OperationalError):  # another process is switching, or uses the file in the old mode
        file.execute("PRAGMA journal_mode = WAL")
    if file.execute("PRAGMA journal_mode").fetchone()[0] == "wal":
        file.execute("PRAGMA synchronous = NORMAL")


def close_whole(file: sqlite3.Connection) -> bool:
    """Close; if no other process has the file open, the log becomes part of it, so that it can be read from a
    write-protected folder and by other machines. Returns whether it did."""
    whole = False
    with suppress(sqlite3.Error):  # in use, damaged, or write-protected
        file.execute("PRAGMA busy_timeout = 0")
        whole = file.execute("PRAGMA journal_mode = DELETE").fetchone()[0] == "delete"
    file.close()
    return whole
