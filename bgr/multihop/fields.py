"""Fields of records that may hold anything; every error is one line: where, what it is, what is allowed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from bgr.errors import DataError
from bgr.json_text import is_text, shown


def as_record(value: Any, where: str) -> Mapping[str, Any]:
    """The value, which must be an object."""
    if not isinstance(value, dict):
        raise DataError(f"{where}: is {shown(value)}, allowed: an object")
    return value


def as_text(value: Any, where: str) -> str:
    """The value, which must be a text."""
    if not is_text(value):
        raise DataError(f"{where} is {shown(value)}, allowed: a text")
    return value


def get_text(record: Mapping[str, Any], name: str, where: str) -> str:
    """A field that must be there and be a text."""
    return as_text(_get(record, name, where, "a text"), f"{where}: {name}")


def get_list(record: Mapping[str, Any], name: str, where: str) -> list[Any]:
    """A field that must be there and be a list."""
    value = _get(record, name, where, "a list")
    if not isinstance(value, list):
        raise DataError(f"{where}: {name} is {shown(value)}, allowed: a list")
    return value


def get_texts(record: Mapping[str, Any], name: str, where: str) -> tuple[str, ...]:
    """A field that must be there and be a list of texts."""
    return tuple(
        as_text(value, f"{where}: {name}, number {n}") for n, value in enumerate(get_list(record, name, where))
    )


def get_flag(record: Mapping[str, Any], name: str, where: str) -> bool:
    """A field that must be there and be true or false."""
    value = _get(record, name, where, "true or false")
    if not isinstance(value, bool):
        raise DataError(f"{where}: {name} is {shown(value)}, allowed: true or false")
    return value


def get_answers(record: Mapping[str, Any], where: str) -> tuple[str, ...]:
    """``answer`` (a text, or a list of texts) and ``answer_aliases``, each once."""
    one = [get_text(record, "answer", where)] if not isinstance(record.get("answer"), list) else None
    answers = one if one is not None else list(get_texts(record, "answer", where))
    if "answer_aliases" in record:
        answers += get_texts(record, "answer_aliases", where)
    return tuple(dict.fromkeys(answers))


def _get(record: Mapping[str, Any], name: str, where: str, allowed: str) -> Any:
    if name not in record:
        raise DataError(f"{where}: {name} is missing, allowed: {allowed}")
    return record[name]
