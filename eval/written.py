"""Files of numbers that take their names only when they are whole: text, CSV, and whatever else writes to a path."""

from __future__ import annotations

import csv
import io
import json
import math
import os
import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from bgr.errors import DataError


def write_text(path: Path, text: str) -> None:
    """See `write_whole`."""
    write_whole(path, lambda half: half.write_bytes(text.encode()))


def write_json(path: Path, value: Any) -> None:
    """As JSON, indented, with ``null`` for what is no number (`without_nan`). See `write_whole`."""
    write_text(path, json.dumps(without_nan(value), indent=2, ensure_ascii=False, allow_nan=False) + "\n")


def write_csv(path: Path, rows: Sequence[Mapping[str, Any]]) -> None:
    """One line a row; the columns are those of all rows, in order of first appearance. See `write_whole`."""
    file = io.StringIO(newline="")
    writer = csv.DictWriter(file, list(dict.fromkeys(name for row in rows for name in row)))
    writer.writeheader()
    writer.writerows(rows)
    write_text(path, file.getvalue())


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
