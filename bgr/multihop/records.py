"""The records of a file: a JSON list, or JSON lines."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from bgr.errors import DataError
from bgr.json_text import parse_json


def read_text(path: Path) -> str:
    """A file's text.

    Raises:
        DataError: it is missing or cannot be read.
    """
    try:
        return path.read_text(encoding="utf-8-sig")
    except FileNotFoundError:
        raise DataError(f"{path}: no such file") from None
    except (OSError, UnicodeDecodeError) as error:
        raise DataError(f"{path}: cannot be read: {error}") from None


def read_records(path: Path) -> list[tuple[str, Any]]:
    """Each record with where it stands, ``FILE: item 3`` (from 0) or ``FILE: line 4`` (from 1).

    Raises:
        DataError: the file is no list in JSON and no JSON lines, or holds no record.
    """
    text = read_text(path)
    if text.lstrip()[:1] == "[":
        whole = parse_json(text, str(path), lines=True)
        found = [(f"{path}: item {number}", record) for number, record in enumerate(whole)]
    else:
        # str.splitlines would also cut at U+2028, which JSON allows inside a string
        lines = [(f"{path}: line {number}", line) for number, line in enumerate(text.split("\n"), 1) if line.strip()]
        found = [(where, parse_json(line, where)) for where, line in lines]
    if not found:
        raise DataError(f"{path}: holds no record, allowed: a JSON list of objects, or JSON lines")
    return found
