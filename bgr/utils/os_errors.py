"""Errors of the operating system in one line: what failed, where, and what to do."""

from __future__ import annotations

import errno
import os
import re

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


def system_error(error: Exception) -> OSError | None:
    """The error of the operating system that an exception is or repeats, as those of libraries in Rust do; else
    ``None``."""
    if isinstance(error, OSError):
        return error
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
