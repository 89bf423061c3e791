"""What errors say in one line: which call of the operating system failed, where, and what to do; which name was meant
instead of a misspelled one.
"""

from __future__ import annotations

import errno
import os
import re
from collections.abc import Iterable
from difflib import get_close_matches
from itertools import islice
from pathlib import Path

from bgr.utils.text_layout import clean

_ADVICE = {
    errno.ENOSPC: "free some space or write elsewhere",
    errno.EDQUOT: "free some space or write elsewhere",
    errno.EFBIG: "raise the limit of file sizes (ulimit -f) or write elsewhere",
    errno.EACCES: "change its permissions or name another place",
    errno.EPERM: "change its permissions or name another place",
    errno.EROFS: "name another place",
    errno.ENAMETOOLONG: "name a shorter path",
    errno.ENOTDIR: "a part of the path is a file; name another place",
    errno.EEXIST: "a part of the path is a file; name another place",
    errno.EISDIR: "name a file",
    errno.EMFILE: "raise the limit of open files (ulimit -n)",
    errno.ENOMEM: "free some memory",
}


_LOWER = ("batch_size", "batch", "pool", "candidates", "questions", "limit", "size")
"""Options that take less memory when they are lower, those with the most effect first."""

_NO_MEMORY = re.compile(
    r"allocate memory|not enough memory|out of memory|bad_alloc|failed to allocate|could not create a primitive|"
    r"start new thread|Unable to allocate|error return without exception set",
    re.IGNORECASE,
)
"""Messages of Python and of libraries, oneDNN's among them, which names no reason."""


def is_out_of_memory(error: BaseException) -> bool:
    """True for the errors of Python and of libraries in C++ that find no memory, and for errors that they led to."""
    one: BaseException | None = error
    while one is not None:
        if isinstance(one, MemoryError) or (isinstance(one, OSError) and one.errno == errno.ENOMEM):
            return True
        if isinstance(one, RuntimeError | ImportError | OSError | SystemError) and _NO_MEMORY.search(str(one)):
            return True
        one = one.__cause__ or one.__context__
    return False


def out_of_memory(options: Iterable[str]) -> str:
    """One line that says which of a command's options to lower."""
    known = set(options)
    found = [f"--{name.replace('_', '-')}" for name in _LOWER if name in known][:2]
    if "settings" in known:
        found = ["--data.batch_size"]
    lower = " or ".join(found)
    return f"out of memory; {f'lower {lower}, ' if lower else ''}give smaller inputs, or free some memory (ulimit -v)"


_NOT_WRITTEN = re.compile(r"inline_container\.cc.*(unexpected pos|writ)|PytorchStreamWriter failed", re.DOTALL)


def system_error(error: Exception) -> OSError | None:
    """The error of the operating system that an exception is or repeats, as those of libraries in Rust do; else
    ``None``. PyTorch does not say why it could not write a file: in all likelihood the disk is full."""
    if isinstance(error, OSError):
        return error
    if isinstance(error, RuntimeError) and _NOT_WRITTEN.search(str(error)):
        return OSError(errno.ENOSPC, "PyTorch could not write a file")
    number = re.search(r"\(os error (\d{1,4})\)", str(error))
    return OSError(int(number[1]), os.strerror(int(number[1]))) if number else None


def problem(error: OSError) -> str:
    """The reason and, where it is known, what to do."""
    reason = error.strerror or str(error) or type(error).__name__
    advice = _ADVICE.get(error.errno or 0)
    return f"{reason}; {advice}" if advice else reason


def describe(error: OSError, place: str) -> str:
    """One line: the file of the error, or else `place`, and the `problem`."""
    names = [str(name) for name in (error.filename, error.filename2) if name is not None]
    return f"{' and '.join(names) or place}: {problem(error)}"


MAX_NEIGHBORS = 1000
"""Number of files of a folder that a missing path is compared with."""


def nearest(word: str, known: Iterable[str]) -> str | None:
    """The most similar of the known names, regardless of case; ``None`` if none is similar."""
    names = {name.casefold(): name for name in known}
    near = get_close_matches(word.casefold(), names, n=1)
    return names[near[0]] if near else None


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """The end of an error message, ``"; did you mean bm25?"``, or nothing if no known name is similar."""
    near = nearest(word, known)
    return f"; did you mean {near}?" if near is not None else ""


def did_you_mean_path(path: Path) -> str:
    """The same for a path that does not exist, by the names in its folder; nothing if the path exists or its folder
    cannot be read."""
    # the last part of "." and of "a/.." is no name
    if path.exists() or path.name in ("", ".."):
        return ""
    try:
        names = [one.name for one in islice(path.parent.iterdir(), MAX_NEIGHBORS)]
    except OSError:
        return ""
    near = nearest(path.name, names)
    return f"; did you mean {clean(str(path.parent / near))}?" if near is not None else ""
