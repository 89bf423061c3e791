"""Locks of what a command writes, held from its start to its end, so that no second command writes the same.

The lock of ``work/run`` is the file ``work/.run.lock``. The kernel releases it when the process ends, however it ends;
a file that a killed process left has no effect and is removed by the next command.
"""

from __future__ import annotations

import errno
import os
import sys
import threading
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

from bgr.errors import BgrError
from bgr.utils.atomic_io import LOCK_FILE, writing

if sys.platform != "win32":
    import fcntl

PARENTS = "BGR_LOCKED"
"""Environment variable with the outputs that a command has locked; the commands that it starts may write in them."""

_taken: dict[str, int] = {}
"""The outputs that this process has locked, each with the thread that did."""

_changing = threading.Lock()
_NO_LOCKS = (errno.ENOSYS, errno.ENOLCK, errno.ENOTSUP, errno.EOPNOTSUPP)
_handles: set[int] = set()


@contextmanager
def output_locks(outputs: Iterable[Path]) -> Iterator[None]:
    """Hold the locks of files or folders, which need not exist, until the end of the block.

    File systems without locks, and Windows, give none.

    Raises:
        BgrError: another process writes one of them, a folder that holds it, or a part of it; or another thread one
            of them.
        DataError: a lock cannot be written.
    """
    with ExitStack() as held:
        for output in outputs if sys.platform != "win32" else ():
            path = Path(os.path.realpath(output))
            if str(path) in _parents() or _taken.get(str(path)) == threading.get_ident():
                continue
            with writing(output):
                held.enter_context(_made(path.parent))
                held.enter_context(_held(path, output))
            held.enter_context(_told(str(path)))
            ours = _parents() | _taken.keys()
            around = [folder for folder in path.parents if str(folder) not in ours]
            with suppress(OSError):  # a folder that cannot be listed has no locks of ours
                within = [path / file.name[1:-5] for file in path.iterdir() if LOCK_FILE.fullmatch(file.name)]
                around += [part for part in within if str(part) not in ours]
            for other in around:
                if _is_held(_lock_file(other)):
                    raise _busy(output, f" ({other})")
        yield


def _parents() -> set[str]:
    """The outputs that the command has locked that started this process."""
    return set(filter(None, os.environ.get(PARENTS, "").split(os.pathsep))) - _taken.keys()


@contextmanager
def _told(path: str) -> Iterator[None]:
    """Tell processes that are started in the block that the output is locked for them, too."""

    def tell(paths: set[str]) -> None:
        if paths:
            os.environ[PARENTS] = os.pathsep.join(sorted(paths))
        else:
            os.environ.pop(PARENTS, None)

    with _changing:
        parents = _parents()
        _taken[path] = threading.get_ident()
        tell(parents | _taken.keys())
    try:
        yield
    finally:
        with _changing:
            parents = _parents()
            _taken.pop(path, None)
            tell(parents | _taken.keys())


def _lock_file(path: Path) -> Path:
    return path.with_name(f".{path.name}.lock") if path.name else path


def _busy(output: Path, where: str = "") -> BgrError:
    return BgrError(f"{output}: another process is writing it{where}; wait until it ends, or name another output")


@contextmanager
def _made(folder: Path) -> Iterator[None]:
    """A folder with its parents; those that are new and still empty at the end are removed."""
    new = [one for one in (folder, *folder.parents) if not one.exists()]
    folder.mkdir(parents=True, exist_ok=True)
    try:
        yield
    finally:
        with suppress(OSError):
            for one in new:
                one.rmdir()


@contextmanager
def _held(path: Path, output: Path) -> Iterator[None]:
    file = _lock_file(path)
    try:
        handle = _locked(file)
    except PermissionError:
        if not path.is_dir():
            raise
        # nothing can be created beside a mounted folder: the folder itself is locked
        file, handle = path, _locked(path, os.O_RDONLY)
    if handle is None:
        raise _busy(output)
    _handles.add(handle)
    try:
        yield
    finally:
        if file != path:
            file.unlink(missing_ok=True)  # while it is locked: whoever opened it sees that it is gone
        _handles.discard(handle)
        os.close(handle)


def _locked(file: Path, flags: int = os.O_RDWR | os.O_CREAT) -> int | None:
    """The handle of the file, which is locked as long as it is open; ``None`` if another process holds the lock."""
    while True:
        handle = os.open(file, flags, 0o644)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            if error.errno not in _NO_LOCKS:
                os.close(handle)
                if isinstance(error, BlockingIOError):
                    return None
                raise
        with suppress(FileNotFoundError):
            if os.path.samestat(os.fstat(handle), os.stat(file)):
                return handle
        os.close(handle)  # its owner removed it between the two calls


def _is_held(file: Path) -> bool:
    if not file.is_file():
        return False
    try:
        handle = os.open(file, os.O_RDONLY)
    except OSError:
        return False
    try:
        fcntl.flock(handle, fcntl.LOCK_SH | fcntl.LOCK_NB)
        return False
    except OSError as error:
        return isinstance(error, BlockingIOError)
    finally:
        os.close(handle)


def _close_handles() -> None:
    """A forked worker that outlives its parent must not keep the locks."""
    while _handles:
        os.close(_handles.pop())


if sys.platform != "win32":
    os.register_at_fork(after_in_child=_close_handles)
