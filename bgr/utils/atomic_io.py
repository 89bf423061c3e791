"""Files and folders that appear under their names only when they are complete; every error names its file."""

from __future__ import annotations

import errno
import glob
import json
import math
import os
import re
import shutil
import sys
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import IO, Any

from bgr.errors import DataError
from bgr.utils.error_text import problem, system_error
from bgr.utils.hashing import hash_file
from bgr.utils.json_utils import parse_json

if sys.platform != "win32":
    import fcntl

_HALF, _OLD = "bgr-half-", "bgr-old-"

LOCK_FILE = re.compile(r"\..+\.lock")
"""Name of a file of `bgr.utils.output_lock`."""


SUMS = "SHA256SUMS"
"""File with the hashes of a folder's files, which `bgr.utils.checksums` compares."""

_LEFT_OUT = ("training", "README.md", SUMS)
"""Parts of a run folder that no checkpoint needs, and the model card, which anyone may edit."""


def read_json(path: str | Path) -> Any:
    """Parse a JSON file; DataError if it is unreadable or not valid JSON, with file, line and column."""
    path = Path(path)
    try:
        check_regular(path)
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise DataError(f"{path}: no such file") from None
    except (OSError, UnicodeDecodeError) as error:
        raise DataError(f"{path}: cannot be read: {error}") from None
    return parse_json(text, str(path), lines=True)


def check_regular(path: Path) -> None:
    """Refuse to open a pipe or a device, which may never end; DataError."""
    if path.exists() and not path.is_file():
        raise DataError(f"{path}: not a regular file")


def is_empty(path: Path) -> bool:
    """True for a folder that holds nothing, or only lock files that killed processes left."""
    return path.is_dir() and all(LOCK_FILE.fullmatch(file.name) for file in path.iterdir())


@contextmanager
def output_folder(path: str | Path, *, overwrite: bool = False, sums: bool = True) -> Iterator[Path]:
    """A temporary folder beside `path` that is renamed to `path` when the block succeeds, and removed otherwise.

    Temporary folders of killed processes are removed; those of running processes are locked and stay. With `sums` the
    hashes of its files are written too (`bgr.utils.checksums`); parts of a folder that has hashes need none.

    Raises:
        DataError: `path` is a file, or exists and `overwrite` is false (an empty folder counts as free); or it cannot
            be written.
    """
    path = Path(path)
    if path.exists() and not path.is_dir():
        raise DataError(f"{path}: not a folder; name another place")
    if path.exists() and not overwrite and not is_empty(path):
        raise DataError(f"{path}: exists already; give --overwrite to replace it")
    with ExitStack() as held:
        with writing(path):
            path.parent.mkdir(parents=True, exist_ok=True)
        # so that nobody sees the new folder before it is locked
        with writing(path), _locked(path.parent, wait=True):
            _remove_left(path, _HALF)
            work = Path(tempfile.mkdtemp(prefix=f".{path.name}.{_HALF}", dir=path.parent))
            held.callback(shutil.rmtree, work, ignore_errors=True)
            held.enter_context(_locked(work))
        work.chmod(0o777 & ~_umask())
        with _writing_within(path, work):
            yield work
            if sums:
                write_sums(work)
            share_files(work)
        with writing(path):
            _move(work, path)
        _remove_left(path, _OLD)  # only now that the new one is in place


def _move(work: Path, path: Path) -> None:
    """Move a folder to where an old one may be, which comes back if that fails."""
    if not path.exists():
        os.replace(work, path)
        return
    old = Path(tempfile.mkdtemp(prefix=f".{path.name}.{_OLD}", dir=path.parent)) / "old"
    os.replace(path, old)
    try:
        os.replace(work, path)
    except OSError:
        os.replace(old, path)
        old.parent.rmdir()
        raise


def _remove_left(path: Path, kind: str) -> None:
    """Remove the temporary folders of `path` of one kind that no living process has locked."""
    for folder in sorted(path.parent.glob(f".{glob.escape(path.name)}.{kind}*")):
        with _locked(folder) as free:
            if free:
                shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def _locked(folder: Path, *, wait: bool = False) -> Iterator[bool]:
    """Hold a folder's lock until the end of the block or of the process, however it ends.

    Yields whether that succeeded: another process may hold it, and some platforms and file systems have no locks.
    """
    if sys.platform == "win32":
        yield False
        return
    with ExitStack() as held:
        try:
            handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
            held.callback(os.close, handle)
            fcntl.flock(handle, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
            free = True
        except OSError:
            free = False
        yield free


def share_files(folder: Path) -> None:
    """Give the files below a folder the usual permissions: some libraries let only their owner read them."""
    mode = 0o666 & ~_umask()
    for file in folder.rglob("*"):
        if file.is_file() and not file.is_symlink():
            file.chmod(mode)


def _umask() -> int:
    mask = os.umask(0o077)
    os.umask(mask)
    return mask


@contextmanager
def new_file(path: str | Path, *, parents: bool = False, durable: bool = False, single: bool = False) -> Iterator[Path]:
    """A temporary file beside `path`, of another ending, that replaces `path` when the block succeeds.

    Args:
        durable: wait until the content is on the disk, so that it survives a power failure.
        single: only one process writes `path`. The temporary file is then always ``PATH.part``, which the next run
            overwrites if this one is killed.

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
                sync_file(half)
            half.chmod(0o666 & ~_umask())
            os.replace(half, path)
        finally:
            half.unlink(missing_ok=True)


def sync_file(path: Path) -> None:
    """Wait until the content of a file is on the disk; OSError if it cannot be written there."""
    with path.open("rb+") as file:
        os.fsync(file.fileno())


def sync_folder(path: Path) -> None:
    """Wait until the names in a folder are on the disk; OSError if they cannot be written there. Where the system
    cannot do this for a folder, nothing is done."""
    if sys.platform == "win32":
        return
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    except OSError as error:
        if error.errno not in (errno.EINVAL, errno.ENOTSUP):  # some network file systems
            raise
    finally:
        os.close(handle)


@contextmanager
def replaced(path: str | Path, *, durable: bool = False) -> Iterator[IO[str]]:
    """A text file, with ``\\n`` at the end of lines, that replaces `path` when the block succeeds. See `new_file`."""
    with new_file(path, durable=durable) as half, half.open("w", encoding="utf-8", newline="\n") as file:
        yield file


@contextmanager
def writing(path: Path) -> Iterator[None]:
    """Turn an error of the system in the block into a DataError of one line."""
    try:
        yield
    except Exception as error:
        if (of_system := system_error(error)) is None:
            raise
        raise DataError(f"{path}: cannot be written: {problem(of_system)}") from None


@contextmanager
def _writing_within(path: Path, work: Path) -> Iterator[None]:
    """`writing` for the errors of files in `work`, and of those that name no file; others are left as they are."""
    try:
        yield
    except Exception as error:
        of_system = system_error(error)
        if of_system is None or isinstance(error, BrokenPipeError):
            raise
        if of_system.filename is not None and not Path(os.fsdecode(of_system.filename)).is_relative_to(work):
            raise
        raise DataError(f"{path}: cannot be written: {problem(of_system)}") from None


def write_text(path: str | Path, text: str, *, encoding: str = "utf-8") -> None:
    """Write a text, whose line ends are kept. See `new_file`."""
    with new_file(path) as half:
        half.write_bytes(text.encode(encoding))


def write_json(path: str | Path, value: Any) -> None:
    """Write JSON, indented, with ``null`` for a number that is NaN or infinite (`without_nan`). See `new_file`."""
    write_text(path, json.dumps(without_nan(value), indent=2, ensure_ascii=False, allow_nan=False) + "\n")


def write_lines(path: str | Path, lines: Iterable[str]) -> None:
    """Write lines, of which memory holds one at a time. See `new_file`."""
    with replaced(path) as file:
        for line in lines:
            file.write(f"{line}\n")


def without_nan(value: Any) -> Any:
    """The value with ``None`` for every number that is NaN or infinite, which JSON does not have."""
    if isinstance(value, Mapping):
        return {name: without_nan(one) for name, one in value.items()}
    if isinstance(value, list | tuple):
        return [without_nan(one) for one in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def write_sums(folder: Path) -> int:
    """Write the hashes of a folder's files, and return their number; hidden files, the model card and the folder
    ``training`` are left out.

    Raises:
        DataError: a file cannot be read, or the hashes cannot be written.
    """
    names = sorted(_files(folder))
    with writing(folder / SUMS):
        lines = [f"{hash_file(folder / name)}  {name}" for name in names]
    write_lines(folder / SUMS, lines)
    return len(lines)


def complete_folder(folder: Path) -> None:
    """Remove what a run that was killed left half-written, and write the hashes of the files (`write_sums`). The caller
    has the folder locked (`bgr.utils.output_lock`).

    Raises:
        DataError: a file cannot be read, removed or written.
    """
    with writing(folder):
        remove_half_written(folder)
    write_sums(folder)


def remove_half_written(folder: Path, name: str = "") -> None:
    """Remove what killed runs of `new_file` left of one file of a folder, or of all files in it and below. Nobody else
    may be writing them."""
    for half in folder.glob(f".{glob.escape(name)}.*.half") if name else folder.rglob(".*.half"):
        half.unlink(missing_ok=True)


def _files(folder: Path) -> Iterator[str]:
    for path in folder.rglob("*"):
        parts = path.relative_to(folder).parts
        if path.is_file() and parts[0] not in _LEFT_OUT and not any(part.startswith(".") for part in parts):
            yield path.relative_to(folder).as_posix()
