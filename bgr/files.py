"""Reading and writing files so that nothing is left half-written and every error says which file it was."""

from __future__ import annotations

import glob
import hashlib
import os
import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from bgr.errors import DataError
from bgr.json_text import parse_json

if sys.platform != "win32":
    import fcntl

_HALF, _OLD = "bgr-half-", "bgr-old-"


def read_json(path: str | Path) -> Any:
    """Parse one JSON file.

    Raises:
        DataError: the file is missing, unreadable, cut off, nested too deeply, or holds a number of thousands of
            digits; the message names file, line and column.
    """
    path = Path(path)
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise DataError(f"{path}: no such file") from None
    except (OSError, UnicodeDecodeError) as error:
        raise DataError(f"{path}: cannot be read: {error}") from None
    return parse_json(text, str(path), lines=True)


@contextmanager
def output_folder(path: str | Path, *, overwrite: bool = False) -> Iterator[Path]:
    """A temporary folder beside `path` that takes its name only when the block ends well; on an error nothing is left.

    What a killed process left of the same `path` is removed; a folder that somebody still writes is locked and stays.

    Raises:
        DataError: `path` exists and `overwrite` is false (an empty folder counts as free).
    """
    path = Path(path)
    if path.exists() and not overwrite and not (path.is_dir() and not any(path.iterdir())):
        raise DataError(f"{path}: exists already; give --overwrite to replace it")
    path.parent.mkdir(parents=True, exist_ok=True)
    with _locked(path.parent, wait=True):  # so that nobody sees the new folder before it is locked
        _remove_left(path, _HALF)
        work = Path(tempfile.mkdtemp(prefix=f".{path.name}.{_HALF}", dir=path.parent))
        lock = _lock(work)
    work.chmod(0o755)
    try:
        yield work
        if path.exists():
            old = Path(tempfile.mkdtemp(prefix=f".{path.name}.{_OLD}", dir=path.parent)) / "old"
            os.replace(path, old)
        os.replace(work, path)
        _remove_left(path, _OLD)  # only now that the new one is in place
    finally:
        _unlock(lock)
        shutil.rmtree(work, ignore_errors=True)


def _remove_left(path: Path, kind: str) -> None:
    """Remove the temporary folders of `path` of one kind that no living process has locked."""
    for folder in sorted(path.parent.glob(f".{glob.escape(path.name)}.{kind}*")):
        with _locked(folder) as free:
            if free:
                shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def _locked(folder: Path, *, wait: bool = False) -> Iterator[bool]:
    """Hold a folder's lock; gives whether that succeeded."""
    lock = _lock(folder, wait=wait)
    try:
        yield lock is not None
    finally:
        _unlock(lock)


def _lock(folder: Path, *, wait: bool = False) -> int | None:
    """Lock a folder until `_unlock` or the end of the process, however it ends.

    Returns:
        What `_unlock` takes; ``None`` where another process holds the lock, or the file system or platform has none.
    """
    if sys.platform == "win32":
        return None
    try:
        handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    except OSError:
        return None
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
    except OSError:
        os.close(handle)
        return None
    return handle


def _unlock(lock: int | None) -> None:
    if lock is not None:
        os.close(lock)


def hash_files(folder: str | Path, names: list[str]) -> str:
    """SHA-256 over the named files of a folder, names and contents, in the order given."""
    digest = hashlib.sha256()
    for name in names:
        digest.update(name.encode() + b"\0")
        with (Path(folder) / name).open("rb") as file:
            while block := file.read(1 << 20):
                digest.update(block)
    return digest.hexdigest()
