"""Reading and writing files so that nothing is left half-written and every error says which file it was."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from bgr.errors import DataError


def read_json(path: str | Path) -> Any:
    """Parse one JSON file.

    Raises:
        DataError: the file is missing, unreadable or cut off; the message names file, line and column.
    """
    path = Path(path)
    try:
        with path.open(encoding="utf-8") as file:
            return json.load(file)
    except FileNotFoundError:
        raise DataError(f"{path}: no such file") from None
    except json.JSONDecodeError as error:
        raise DataError(f"{path}: not valid JSON at line {error.lineno}, column {error.colno}: {error.msg}") from None
    except (OSError, UnicodeDecodeError) as error:
        raise DataError(f"{path}: cannot be read: {error}") from None


@contextmanager
def output_folder(path: str | Path, *, overwrite: bool = False) -> Iterator[Path]:
    """A temporary folder beside `path` that takes its name only when the block ends well; on an error nothing is left.

    Raises:
        DataError: `path` exists and `overwrite` is false (an empty folder counts as free).
    """
    path = Path(path)
    if path.exists() and not overwrite and not (path.is_dir() and not any(path.iterdir())):
        raise DataError(f"{path}: exists already; give --overwrite to replace it")
    path.parent.mkdir(parents=True, exist_ok=True)
    work = Path(tempfile.mkdtemp(prefix=f".{path.name}.", dir=path.parent))
    work.chmod(0o755)
    try:
        yield work
        if path.exists():
            old = Path(tempfile.mkdtemp(prefix=f".{path.name}.old.", dir=path.parent)) / "old"
            os.replace(path, old)
            os.replace(work, path)
            shutil.rmtree(old.parent)
        else:
            os.replace(work, path)
    finally:
        shutil.rmtree(work, ignore_errors=True)


def hash_files(folder: str | Path, names: list[str]) -> str:
    """SHA-256 over the named files of a folder, names and contents, in the order given."""
    digest = hashlib.sha256()
    for name in names:
        digest.update(name.encode() + b"\0")
        with (Path(folder) / name).open("rb") as file:
            while block := file.read(1 << 20):
                digest.update(block)
    return digest.hexdigest()
