"""Records of a file (a JSON list or JSON lines) and checked access to their fields.

The content is untrusted; every error is one line with the location, the value and what is allowed.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from bgr.errors import DataError
from bgr.utils.json_utils import is_text, parse_json, repr_short


def as_record(value: Any, where: str) -> Mapping[str, Any]:
    """The value, which must be an object."""
    if not isinstance(value, dict):
        raise DataError(f"{where}: is {repr_short(value)}, allowed: an object")
    return value


def as_text(value: Any, where: str) -> str:
    """The value, which must be a text."""
    if not is_text(value):
        raise DataError(f"{where} is {repr_short(value)}, allowed: a text")
    return value


def get_field(record: Mapping[str, Any], name: str, where: str, allowed: str, kind: type = object) -> Any:
    """A required field, which must be of the type `kind`; `allowed` says so in the message."""
    if name not in record:
        raise DataError(f"{where}: {name} is missing, allowed: {allowed}")
    if not isinstance(record[name], kind):
        raise DataError(f"{where}: {name} is {repr_short(record[name])}, allowed: {allowed}")
    return record[name]


def get_text(record: Mapping[str, Any], name: str, where: str) -> str:
    """A required field, which must be a text."""
    return as_text(get_field(record, name, where, "a text"), f"{where}: {name}")


def get_list(record: Mapping[str, Any], name: str, where: str) -> list[Any]:
    """A required field, which must be a list."""
    return get_field(record, name, where, "a list", list)


def get_texts(record: Mapping[str, Any], name: str, where: str) -> tuple[str, ...]:
    """A required field, which must be a list of texts."""
    values = get_list(record, name, where)
    return tuple(as_text(value, f"{where}: {name}, number {n}") for n, value in enumerate(values))


def get_flag(record: Mapping[str, Any], name: str, where: str) -> bool:
    """A required field, which must be true or false."""
    return get_field(record, name, where, "true or false", bool)


def get_answers(record: Mapping[str, Any], where: str) -> tuple[str, ...]:
    """The distinct texts of ``answer`` (a text, or a list of texts) and ``answer_aliases``."""
    several = isinstance(record.get("answer"), list)
    answers = list(get_texts(record, "answer", where)) if several else [get_text(record, "answer", where)]
    if "answer_aliases" in record:
        answers += get_texts(record, "answer_aliases", where)
    return tuple(dict.fromkeys(answers))


def read_text(path: Path) -> str:
    """A file's text.

    Raises:
        DataError: the file is missing or cannot be read.
    """
    try:
        return path.read_text(encoding="utf-8-sig")
    except FileNotFoundError:
        raise DataError(f"{path}: no such file") from None
    except (OSError, UnicodeDecodeError) as error:
        raise DataError(f"{path}: cannot be read: {error}") from None


def read_records(path: Path) -> list[tuple[str, Any]]:
    """Each record with its location, ``FILE: item 3`` (from 0) or ``FILE: line 4`` (from 1).

    Raises:
        DataError: the file is neither a JSON list nor JSON lines, or has no record.
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
        raise DataError(f"{path}: has no record, allowed: a JSON list of objects, or JSON lines")
    return found
