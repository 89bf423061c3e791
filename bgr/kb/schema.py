"""Values and facts of a knowledge base in KQA Pro's form (KQA Pro 1.0; KoPL documentation)."""

from __future__ import annotations

import datetime
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from bgr.errors import DataError

VALUE_TYPES = ("string", "quantity", "date", "year")


@dataclass(frozen=True, slots=True)
class Value:
    """A typed value: ``str`` for string, ``float`` or ``int`` for quantity (with a unit, ``"1"`` = none),
    ``datetime.date`` for date, ``int`` for year."""

    type: str
    value: str | float | int | datetime.date
    unit: str = "1"

    @classmethod
    def from_json(cls, record: Mapping[str, Any]) -> Value:
        """From ``{type, value, unit?}``; a date may be written ``yyyy-mm-dd`` or ``yyyy/mm/dd``.

        Between date and year the text decides, not the declared type, and numbers have a float's precision: as in KoPL.

        Raises:
            DataError: unknown type, or a value that does not fit its type.
        """
        kind, raw = record["type"], record["value"]
        if kind == "string":
            return cls("string", " ".join(str(raw).split()))
        if kind == "quantity":
            return cls("quantity", _number(raw), str(record.get("unit", "1")))
        if kind in ("date", "year"):
            return parse_time(str(raw))
        raise DataError(f"unknown value type {kind!r}, allowed: {', '.join(VALUE_TYPES)}")

    def to_json(self) -> dict[str, Any]:
        raw = self.value.isoformat() if isinstance(self.value, datetime.date) else self.value
        return {"type": self.type, "value": raw, **({"unit": self.unit} if self.type == "quantity" else {})}

    def __str__(self) -> str:
        """As KoPL prints it: a quantity with its unit unless that is ``1``, a date as ``yyyy-mm-dd``."""
        value = self.value
        if self.type == "quantity":
            whole = int(value)  # type: ignore[arg-type]
            number = str(whole if value - whole < 1e-5 else value)  # type: ignore[operator]
            return number if self.unit == "1" else f"{number} {self.unit}"
        return value.isoformat() if self.type == "date" else str(value)  # type: ignore[union-attr]


def parse_date(text: str) -> datetime.date:
    """``yyyy-mm-dd`` or ``yyyy/mm/dd``."""
    parts = text.replace("/", "-").split("-")
    try:
        year, month, day = (int(part) for part in parts)
        return datetime.date(year, month, day)
    except ValueError:
        raise DataError(f"not a date: {text!r}, expected yyyy-mm-dd or yyyy/mm/dd") from None


def parse_time(text: str) -> Value:
    """A date when the text holds ``/`` or an inner ``-``, else a year (a leading ``-`` is a year before Christ)."""
    if "/" in text or "-" in text[1:]:
        return Value("date", parse_date(text))
    try:
        return Value("year", int(text))
    except ValueError:
        raise DataError(f"not a year or a date: {text!r}, expected yyyy, yyyy-mm-dd or yyyy/mm/dd") from None


def _number(raw: object) -> float | int:
    try:
        number = float(raw)  # type: ignore[arg-type]
    except (TypeError, ValueError, OverflowError):
        raise DataError(f"not a number: {raw!r}") from None
    if not math.isfinite(number):
        raise DataError(f"not a finite number: {raw!r}")
    return int(number) if isinstance(raw, int) else number


@dataclass(frozen=True, slots=True)
class Fact:
    """One statement of the knowledge base as one program uses it.

    Args:
        head: entity id the statement is about.
        predicate: attribute key or relation name.
        value: the attribute's value; ``None`` for a relation.
        tail: id of the entity or concept a relation leads to; ``None`` for an attribute.
        qualifiers: only those the program uses, as sorted ``(key, value)`` pairs.
    """

    head: str
    predicate: str
    value: Value | None = None
    tail: str | None = None
    qualifiers: tuple[tuple[str, Value], ...] = ()

    @property
    def is_relation(self) -> bool:
        return self.tail is not None

    @property
    def statement(self) -> tuple[str, str, Value | str | None]:
        """Identity without the qualifiers: two facts with one statement say the same thing."""
        return (self.head, self.predicate, self.value if self.tail is None else self.tail)
