"""SQLite files that are written row by row."""

from __future__ import annotations

import sqlite3
from contextlib import suppress

from bgr.utils.json_utils import repr_short


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
