"""Writing files of an index: under a name of their own until they are whole, and with one kind of error."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from bgr.errors import DataError


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
