"""Files of numbers that take their names only when they are whole: text, CSV, and whatever else writes to a path.

Reading and writing files so that nothing is left half-written and every error says which file it was.

Writing files of an index: under a name of their own until they are whole, and with one kind of error.
"""

from __future__ import annotations

import glob
import hashlib
import json
import math
import os
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping
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


@contextmanager
def replaced(path: str | Path) -> Iterator[IO[str]]:
    """A text file that takes its name, or another file's place, only when the block ends well.

    Raises:
        DataError: it cannot be written.
    """
    path = Path(path)
    with writing(path):
        handle, half = tempfile.mkstemp(prefix=f".{path.name}.", suffix=".half", dir=path.parent)
        try:
            with os.fdopen(handle, "w", encoding="utf-8", newline="\n") as file:
                yield file
            os.chmod(half, 0o644)
            os.replace(half, path)
        except BaseException:
            Path(half).unlink(missing_ok=True)
            raise


@contextmanager
def writing(path: Path) -> Iterator[None]:
    """Turns what the system says of a file that cannot be written into one line.

    Raises:
        DataError: the system refuses.
    """
    try:
        yield
    except OSError as error:
        raise DataError(f"{path}: cannot be written: {error.strerror or error}") from None


def write_text(path: Path, text: str) -> None:
    """See `write_whole`."""
    write_whole(path, lambda half: half.write_bytes(text.encode()))


def write_json(path: Path, value: Any) -> None:
    """As JSON, indented, with ``null`` for what is no number (`without_nan`). See `write_whole`."""
    write_text(path, json.dumps(without_nan(value), indent=2, ensure_ascii=False, allow_nan=False) + "\n")


def write_lines(path: Path, lines: Iterable[str]) -> None:
    """Write lines one after the other, so that memory holds one. See `replaced`."""
    with replaced(path) as file:
        for line in lines:
            file.write(f"{line}\n")


def write_whole(path: Path, write: Callable[[Path], Any]) -> None:
    """Let `write` fill a file beside `path` that then takes its place; on an error what was there stays.

    Raises:
        DataError: it cannot be written.
    """
    try:
        handle, name = tempfile.mkstemp(prefix=f".{path.stem}.", suffix=path.suffix, dir=path.parent)
        os.close(handle)
        half = Path(name)
        try:
            write(half)
            half.chmod(0o644)
            os.replace(half, path)
        finally:
            half.unlink(missing_ok=True)
    except OSError as error:
        raise DataError(f"{path}: cannot be written: {error.strerror or error}") from None


def without_nan(value: Any) -> Any:
    """The value with ``None`` in the place of every number that is NaN or infinite, which JSON does not have."""
    if isinstance(value, Mapping):
        return {name: without_nan(one) for name, one in value.items()}
    if isinstance(value, list | tuple):
        return [without_nan(one) for one in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
