"""Files and folders that take their names only when they are complete; every error names its file."""

from __future__ import annotations

import glob
import json
import math
import os
import shutil
import sys
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

from bgr.errors import DataError
from bgr.utils.json_utils import parse_json

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

    Leftovers of killed processes for the same `path` are removed; a folder that a process still writes is locked and
    stays.

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


@contextmanager
def new_file(path: str | Path, *, parents: bool = False, durable: bool = False, single: bool = False) -> Iterator[Path]:
    """A path beside `path` for a file that takes its place only when the block ends well; on an error the old file
    stays.

    Args:
        path: the file. The temporary file has another ending.
        parents: make the folder if it is missing.
        durable: wait until the disk has the content, so that it survives a power failure.
        single: only one process writes `path`. The temporary file is then ``PATH.part``, which the next run overwrites
            if this one is killed, and not a file of its own for each run.

    Raises:
        DataError: the file cannot be written.
    """
    path = Path(path)
    with writing(path):
        if parents:
            path.parent.mkdir(parents=True, exist_ok=True)
        if single:
            half = path.with_name(f"{path.name}.part")
        else:
            handle, name = tempfile.mkstemp(prefix=f".{path.name}.", suffix=".half", dir=path.parent)
            os.close(handle)
            half = Path(name)
        try:
            yield half
            if durable:
                with half.open("rb+") as file:
                    os.fsync(file.fileno())
            half.chmod(0o644)
            os.replace(half, path)
        finally:
            half.unlink(missing_ok=True)


@contextmanager
def replaced(path: str | Path) -> Iterator[IO[str]]:
    """A text file, with ``\\n`` at the end of lines, that takes its place only when the block ends well.

    Raises:
        DataError: the file cannot be written.
    """
    with new_file(path) as half, half.open("w", encoding="utf-8", newline="\n") as file:
        yield file


@contextmanager
def writing(path: Path) -> Iterator[None]:
    """Turn the system's error about a file that cannot be written into one line.

    Raises:
        DataError: the system refuses.
    """
    try:
        yield
    except OSError as error:
        raise DataError(f"{path}: cannot be written: {error.strerror or error}") from None


def write_text(path: str | Path, text: str, *, encoding: str = "utf-8") -> None:
    """Write a text as it is. See `new_file`."""
    with new_file(path) as half:
        half.write_bytes(text.encode(encoding))


def write_json(path: str | Path, value: Any) -> None:
    """Write JSON, indented, with ``null`` for a number that is NaN or infinite (`without_nan`). See `new_file`."""
    write_text(path, json.dumps(without_nan(value), indent=2, ensure_ascii=False, allow_nan=False) + "\n")


def write_lines(path: str | Path, lines: Iterable[str]) -> None:
    """Write lines one after the other, so that memory holds one. See `new_file`."""
    with replaced(path) as file:
        for line in lines:
            file.write(f"{line}\n")


def without_nan(value: Any) -> Any:
    """The value with ``None`` in the place of every number that is NaN or infinite, which JSON does not have."""
    if isinstance(value, Mapping):
        return {name: without_nan(one) for name, one in value.items()}
    if isinstance(value, list | tuple):
        return [without_nan(one) for one in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
