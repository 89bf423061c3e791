"""Reads the records of a ``kb.json`` (KQA Pro 1.0) into statements; every error names the entity and the field."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import Any

from bgr.data.kb.schema import Qualifiers, Statement, Value
from bgr.errors import DataError
from bgr.utils.json_utils import shown

FORWARD, BACKWARD = "forward", "backward"
DIRECTIONS = (FORWARD, BACKWARD)
Row = tuple[Statement, str]


class Reader:
    """Turns records into statements and keeps one object for equal values and for the two ends of one relation."""

    def __init__(self) -> None:
        self.count = 0
        self._values: dict[Any, Value] = {}
        self._relations: dict[Any, Statement] = {}

    def attributes(self, where: str, entity: str, record: Mapping[str, Any]) -> list[Statement]:
        """The attribute statements of one entity, in order."""
        rows = []
        for index, row in enumerate(list_field(where, record, "attributes")):
            try:
                key, value = label(row["key"]), self.value(row["value"])
                rows.append(Statement(self._next(), entity, key, value, None, self.qualifiers(row)))
            except (KeyError, TypeError, AttributeError, DataError) as error:
                raise DataError(f"{where}, attributes[{index}]: {reason(error, row)}") from None
        return rows

    def relations(self, where: str, entity: str, record: Mapping[str, Any], known: Mapping[str, Any]) -> list[Row]:
        """The relation statements of one entity with the side it stands on, in order."""
        rows = []
        for index, row in enumerate(list_field(where, record, "relations")):
            try:
                predicate = label(either(row, "relation", "predicate"))
                other, direction = row["object"], row["direction"]
                if direction not in DIRECTIONS:
                    raise DataError(f"direction {shown(direction)}, allowed: {', '.join(DIRECTIONS)}")
                if not isinstance(other, str) or other not in known:
                    raise DataError(f"object {shown(other)} is neither an entity nor a concept")
                other = sys.intern(other)
                ends = (entity, other) if direction == FORWARD else (other, entity)
                rows.append((self.relation(ends, predicate, self.qualifiers(row)), sys.intern(direction)))
            except (KeyError, TypeError, AttributeError, DataError) as error:
                raise DataError(f"{where}, relations[{index}]: {reason(error, row)}") from None
        return rows

    def relation(self, ends: tuple[str, str], predicate: str, qualifiers: Qualifiers) -> Statement:
        """One object for one relation, from whichever end it is read."""
        key = (ends, predicate, qualifiers if len(qualifiers) < 2 else frozenset(qualifiers))
        statement = self._relations.get(key)
        if statement is None:
            statement = Statement(self._next(), ends[0], predicate, None, ends[1], qualifiers)
            self._relations[key] = statement
        return statement

    def qualifiers(self, row: Mapping[str, Any]) -> Qualifiers:
        found = row.get("qualifiers")
        if found is None or found == {}:
            return ()
        # two keys that differ in whitespace alone are one
        merged: dict[str, tuple[Value, ...]] = {}
        for key, values in found.items():
            if not isinstance(values, list):
                raise DataError(f"qualifier {shown(key)} holds {shown(values)}, allowed: a list of values")
            name = label(key)
            merged[name] = merged.get(name, ()) + tuple(self.value(value) for value in values)
        return tuple(merged.items())

    def value(self, record: Mapping[str, Any]) -> Value:
        raw = record["value"]
        key = (record["type"], raw.__class__, raw, record.get("unit"))  # the class: True equals 1
        value = self._values.get(key)
        if value is None:
            value = self._values[key] = Value.from_json(record)
        return value

    def _next(self) -> int:
        self.count += 1
        return self.count - 1


def text(raw: str) -> str:
    """Whitespace normalised, and one object for equal texts: lookups then compare addresses, and memory shrinks."""
    return sys.intern(" ".join(raw.split()))


def label(raw: Any) -> str:
    """A name, key or predicate: as `text`, and not empty.

    Raises:
        DataError: it is empty, or no text.
    """
    found = text(raw) if isinstance(raw, str) else ""
    if not found:
        raise DataError(f"{shown(raw)} as a name, allowed: a text that is not empty")
    return found


def list_field(where: str, record: Mapping[str, Any], field: str) -> list[Any]:
    """A field that holds a list; absent or null means empty."""
    found = record.get(field)
    if found is None:
        return []
    if not isinstance(found, list):
        raise DataError(f"{where}: {field!r} must be a list, is {shown(found)}")
    return found


def either(record: Mapping[str, Any], first: str, second: str) -> Any:
    """A field with two spellings."""
    for field in (first, second):
        if field in record:
            return record[field]
    raise DataError(f"neither {first!r} nor {second!r} is there")


def reason(error: Exception, row: Any) -> str:
    """What is wrong with a row of a record, or with a whole one, by the error that reading it raised.

    Reading checks what would go through unseen; here, where time no longer matters, what it stumbled over is named.
    """
    if isinstance(error, DataError):
        return str(error)
    if not isinstance(row, Mapping):
        return f"{shown(row)}, allowed: an object"
    qualifiers = row.get("qualifiers")
    if qualifiers is not None and not isinstance(qualifiers, Mapping):
        return f"'qualifiers' is {shown(qualifiers)}, allowed: an object of lists of values"
    for key, found in (qualifiers or {}).items():
        if not isinstance(found, list):
            return f"qualifier {shown(key)} holds {shown(found)}, allowed: a list of values"
    values = [row["value"]] if "value" in row else []
    for value in [*values, *(value for found in (qualifiers or {}).values() for value in found)]:
        if not isinstance(value, Mapping):
            return f"value {shown(value)}, allowed: an object {{type, value}}"
        for field in ("type", "value"):
            if field not in value:
                return f"field {field!r} is missing"
            if isinstance(value[field], Mapping | list):
                return f"{field!r} is {shown(value[field])}, allowed: a text or a number"
        if isinstance(value.get("unit"), Mapping | list):
            return f"'unit' is {shown(value['unit'])}, allowed: a text"
    return f"field {error.args[0]!r} is missing" if isinstance(error, KeyError) else str(error)
