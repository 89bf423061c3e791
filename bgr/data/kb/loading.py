"""Reading of a ``kb.json`` (KQA Pro 1.0): first its records, then the statements in them.

A record is kept as text, a tenth of its size when parsed, and is parsed at each access. Every error names the entity
and the field.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator, Mapping
from itertools import count
from pathlib import Path
from typing import Any

from bgr.data.json_stream import JsonText, open_json
from bgr.data.kb.schema import Qualifiers, Statement, Value
from bgr.errors import DataError
from bgr.utils.json_utils import is_text, repr_short

FORWARD, BACKWARD = "forward", "backward"
OPPOSITE = {FORWARD: BACKWARD, BACKWARD: FORWARD}
DIRECTIONS = tuple(OPPOSITE)
Row = tuple[Statement, str]

_SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")
"""A surrogate in JSON's escaped form. Only the parsed record shows whether its other half follows."""


class Records(Mapping[str, Any]):
    """Records by id, in the order of the file; each access parses the record again."""

    def __init__(self, raw: dict[str, bytes], where: str) -> None:
        self._raw = raw
        self._where = where

    def __getitem__(self, node: str) -> Any:
        try:
            return json.loads(self._raw[node])
        except RecursionError:  # the reader of the file allows deeper nesting than this one
            raise DataError(f"{self._where} {repr_short(node)}: nested too deeply") from None

    def __iter__(self) -> Iterator[str]:
        return iter(self._raw)

    def __len__(self) -> int:
        return len(self._raw)


def read_records(path: str | Path, *, progress: bool = False) -> Any:
    """Read a file of the form ``{section: {id: record}}``; a section that is not an object is returned unchanged.

    Raises:
        DataError: the file is missing or invalid JSON, or an id or a section is repeated; the message names the place.
    """
    with open_json(path, progress=progress) as text:
        if text.peek() != "{":
            return text.value()[0]
        sections: dict[str, Any] = {}
        for _ in text.entries("{", "}"):
            name = text.key()
            if name in sections:
                text.fail(f"{repr_short(name)} is repeated")
            sections[name] = _section(text, name) if text.peek() == "{" else text.value()[0]
        text.finish()
        return sections


def _section(text: JsonText, name: str) -> Records:
    raw: dict[str, bytes] = {}
    for _ in text.entries("{", "}"):
        node = text.key()
        text.entry = f"{name} {repr_short(node)}"
        if node in raw:
            text.fail("the id is repeated, allowed: unique ids")
        value, record = text.value()
        if not is_text(node) or (_SURROGATE.search(record) and _has_lone_surrogate(value)):
            text.fail("half of a surrogate pair, which is not a character")
        raw[node] = record.encode()
    text.entry = ""
    return Records(raw, f"{text.where}: {name}")


def _has_lone_surrogate(value: Any) -> bool:
    """True if a text inside `value` cannot be encoded as UTF-8."""
    try:
        json.dumps(value, ensure_ascii=False).encode()
    except (UnicodeEncodeError, RecursionError):
        return True
    return False


class Reader:
    """Converts records to statements. Equal values are one object, and so are the two ends of one relation."""

    def __init__(self) -> None:
        self._numbers = count()
        self._values: dict[Any, Value] = {}
        self._relations: dict[Any, Statement] = {}

    def attributes(self, where: str, entity: str, record: Mapping[str, Any]) -> list[Statement]:
        """The attribute statements of one entity, in order."""
        rows = []
        for index, row in enumerate(_list_field(where, record, "attributes")):
            try:
                key, value = label(row["key"]), self._value(row["value"])
                rows.append(Statement(next(self._numbers), entity, key, value, None, self._qualifiers(row)))
            except (KeyError, TypeError, AttributeError, DataError) as error:
                raise DataError(f"{where}, attributes[{index}]: {_reason(error, row)}") from None
        return rows

    def relations(self, where: str, entity: str, record: Mapping[str, Any], known: Mapping[str, Any]) -> list[Row]:
        """The relation statements of one entity, each with the entity's direction in it, in order."""
        rows = []
        for index, row in enumerate(_list_field(where, record, "relations")):
            try:
                predicate = label(either(row, "relation", "predicate"))
                other, direction = row["object"], row["direction"]
                if direction not in DIRECTIONS:
                    raise DataError(f"direction {repr_short(direction)}, allowed: {', '.join(DIRECTIONS)}")
                if not isinstance(other, str) or other not in known:
                    raise DataError(f"object {repr_short(other)} is neither an entity nor a concept")
                other = sys.intern(other)
                ends = (entity, other) if direction == FORWARD else (other, entity)
                rows.append((self._relation(ends, predicate, self._qualifiers(row)), sys.intern(direction)))
            except (KeyError, TypeError, AttributeError, DataError) as error:
                raise DataError(f"{where}, relations[{index}]: {_reason(error, row)}") from None
        return rows

    def _relation(self, ends: tuple[str, str], predicate: str, qualifiers: Qualifiers) -> Statement:
        """The statement of a relation; the same object from both ends."""
        key = (ends, predicate, qualifiers if len(qualifiers) < 2 else frozenset(qualifiers))
        found = self._relations.get(key)
        if found is None:
            number = next(self._numbers)
            found = self._relations[key] = Statement(number, ends[0], predicate, None, ends[1], qualifiers)
        return found

    def _qualifiers(self, row: Mapping[str, Any]) -> Qualifiers:
        found = row.get("qualifiers")
        if found is None or found == {}:
            return ()
        # keys that differ only in whitespace are merged
        merged: dict[str, tuple[Value, ...]] = {}
        for key, values in found.items():
            if not isinstance(values, list):
                raise DataError(f"qualifier {repr_short(key)} is {repr_short(values)}, allowed: a list of values")
            name = label(key)
            merged[name] = merged.get(name, ()) + tuple(self._value(value) for value in values)
        return tuple(merged.items())

    def _value(self, record: Mapping[str, Any]) -> Value:
        raw = record["value"]
        key = (record["type"], raw.__class__, raw, record.get("unit"))  # with the class, because True equals 1
        value = self._values.get(key)
        if value is None:
            value = self._values[key] = Value.from_json(record)
        return value


def text(raw: str) -> str:
    """The text with normalized whitespace, interned: look-ups then compare addresses, and memory shrinks."""
    return sys.intern(" ".join(raw.split()))


def label(raw: Any) -> str:
    """A name, key or predicate, normalized by `text`; a `DataError` if it is empty or not a text."""
    found = text(raw) if isinstance(raw, str) else ""
    if not found:
        raise DataError(f"{repr_short(raw)} as a name, allowed: a non-empty text")
    return found


def _list_field(where: str, record: Mapping[str, Any], field: str) -> list[Any]:
    """A field with a list; a missing or null field is an empty list."""
    found = record.get(field)
    if found is None:
        return []
    if not isinstance(found, list):
        raise DataError(f"{where}: {field!r} must be a list, is {repr_short(found)}")
    return found


def either(record: Mapping[str, Any], first: str, second: str) -> Any:
    """A field with two spellings."""
    for field in (first, second):
        if field in record:
            return record[field]
    raise DataError(f"field {first!r} (or {second!r}) is missing")


def _reason(error: Exception, row: Any) -> str:
    """The cause of an error. To stay fast, reading itself checks only what would otherwise pass unnoticed."""
    if isinstance(error, DataError):
        return str(error)
    if not isinstance(row, Mapping):
        return f"{repr_short(row)}, allowed: an object"
    qualifiers = row.get("qualifiers")
    if qualifiers is not None and not isinstance(qualifiers, Mapping):
        return f"'qualifiers' is {repr_short(qualifiers)}, allowed: an object of lists of values"
    for key, found in (qualifiers or {}).items():
        if not isinstance(found, list):
            return f"qualifier {repr_short(key)} is {repr_short(found)}, allowed: a list of values"
    values = [row["value"]] if "value" in row else []
    for value in [*values, *(value for found in (qualifiers or {}).values() for value in found)]:
        if not isinstance(value, Mapping):
            return f"value {repr_short(value)}, allowed: an object {{type, value}}"
        for field in ("type", "value"):
            if field not in value:
                return f"field {field!r} is missing"
            if isinstance(value[field], Mapping | list):
                return f"{field!r} is {repr_short(value[field])}, allowed: a text or a number"
        if isinstance(value.get("unit"), Mapping | list):
            return f"'unit' is {repr_short(value['unit'])}, allowed: a text"
    return f"field {error.args[0]!r} is missing" if isinstance(error, KeyError) else str(error)
