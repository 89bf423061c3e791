"""Values, statements and facts of a knowledge base, and results of a program's steps (KQA Pro 1.0; KoPL documentation).

A statement is stored once for both of its ends, with all its qualifiers; a fact is a statement as one program uses it.
A step's result is nodes, or an answer, with the statements behind them.
"""

from __future__ import annotations

import datetime
import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from bgr.errors import DataError
from bgr.utils.json_utils import repr_short

NO_UNIT = "1"
MAX_QUANTITY = 1e300
"""Quantities up to this are still finite after conversion to the smallest unit."""
MAX_YEAR_DIGITS = 12
"""More than any year of the universe needs."""


@dataclass(frozen=True, slots=True)
class Value:
    """A value: ``str`` for string, ``float`` or ``int`` for quantity, ``datetime.date`` for date, ``int`` for year."""

    type: str
    value: str | float | int | datetime.date
    unit: str = NO_UNIT

    @classmethod
    def from_json(cls, record: Mapping[str, Any]) -> Value:
        """Read ``{type, value, unit?}``; a date may be written ``yyyy-mm-dd`` or ``yyyy/mm/dd``.

        As in KoPL, the text and not the declared type distinguishes dates and years, and numbers have a float's
        precision.

        Raises:
            DataError: unknown type, or a value or unit that does not fit the type.
            KeyError: `record` lacks a field.
        """
        kind, raw = record["type"], record["value"]
        if isinstance(raw, bool) or not isinstance(raw, str | int | float):
            raise DataError(f"value {repr_short(raw)}, allowed: a text or a number")
        if isinstance(raw, float) and not math.isfinite(raw):
            raise DataError(f"not a finite number: {raw!r}")
        if kind == "string":
            return cls("string", _filled(" ".join(str(raw).split()), "value"))
        if kind == "quantity":
            return cls("quantity", _number(raw), _filled(record.get("unit", NO_UNIT), "unit"))
        if kind in ("date", "year"):
            return parse_time(str(raw))
        raise DataError(f"unknown value type {repr_short(kind)}, allowed: string, quantity, date, year")

    def to_json(self) -> dict[str, Any]:
        raw = self.value.isoformat() if isinstance(self.value, datetime.date) else self.value
        return {"type": self.type, "value": raw, **({"unit": self.unit} if self.type == "quantity" else {})}

    def __str__(self) -> str:
        """The value as KoPL prints it: a quantity with its unit unless that is ``1``, a date as ``yyyy-mm-dd``."""
        value = self.value
        if self.type == "quantity":
            whole = int(value)  # type: ignore[arg-type]
            number = str(whole if value - whole < 1e-5 else value)  # type: ignore[operator]
            return number if self.unit == NO_UNIT else f"{number} {self.unit}"
        return value.isoformat() if self.type == "date" else str(value)  # type: ignore[union-attr]


def parse_date(text: str) -> datetime.date:
    """Parse ``yyyy-mm-dd`` or ``yyyy/mm/dd``; DataError for any other form, or if there is no such day."""
    parts = text.replace("/", "-").split("-")
    try:
        year, month, day = (int(part) if part.isdecimal() else 0 for part in parts)
        return datetime.date(year, month, day)
    except ValueError:
        raise DataError(f"not a date: {repr_short(text)}, expected yyyy-mm-dd or yyyy/mm/dd") from None


def parse_time(text: str) -> Value:
    """Parse a date if the text has ``/`` or an inner ``-``, else a year (a leading ``-`` is a year before Christ)."""
    text = text.strip()
    if "/" in text or "-" in text[1:]:
        return Value("date", parse_date(text))
    digits = text.removeprefix("-")
    if not digits.isdecimal() or len(digits) > MAX_YEAR_DIGITS:
        raise DataError(f"not a year or a date: {repr_short(text)}, expected yyyy, yyyy-mm-dd or yyyy/mm/dd")
    return Value("year", int(text))


def _number(raw: str | float) -> float | int:
    try:
        number = float(raw)
    except OverflowError:
        number = math.inf
    except ValueError:
        raise DataError(f"not a number: {repr_short(raw)}") from None
    if not abs(number) <= MAX_QUANTITY:
        raise DataError(f"not a finite number: {repr_short(raw)}, allowed: up to {MAX_QUANTITY:g}")
    return int(number) if isinstance(raw, int) else number


def _filled(text: Any, what: str) -> str:
    if not isinstance(text, str) or not text:
        raise DataError(f"{what} {repr_short(text)}, allowed: a non-empty text")
    return text


Qualifier = tuple[str, Value]
Qualifiers = tuple[tuple[str, tuple[Value, ...]], ...]


@dataclass(frozen=True, slots=True)
class Fact:
    """A statement of the knowledge base as one program uses it.

    An attribute has a `value`; a relation has a `tail`, the id of an entity or concept. `qualifiers` are only those
    that the program uses, as sorted ``(key, value)`` pairs.
    """

    head: str
    predicate: str
    value: Value | None = None
    tail: str | None = None
    qualifiers: tuple[Qualifier, ...] = ()

    @property
    def statement(self) -> tuple[str, str, Value | str | None]:
        """Head, predicate, and value or tail, without the qualifiers: facts with equal statements say the same."""
        return (self.head, self.predicate, self.value if self.tail is None else self.tail)


@dataclass(frozen=True, slots=True, eq=False)
class Statement:
    """An attribute (`value`) or a relation (`tail`) of `head`; compared by identity.

    `number` is its index in the knowledge base; numbers and `qualifiers` follow the order of the file.
    """

    number: int
    head: str
    predicate: str
    value: Value | None = None
    tail: str | None = None
    qualifiers: Qualifiers = ()

    def qualifier(self, key: str) -> tuple[Value, ...]:
        """The values of one qualifier key; empty if there is none."""
        for name, values in self.qualifiers:
            if name == key:
                return values
        return ()

    def fact(self, qualifiers: Iterable[Qualifier] = ()) -> Fact:
        ordered = tuple(sorted(set(qualifiers), key=lambda pair: (pair[0], pair[1].type, str(pair[1]))))
        return Fact(self.head, self.predicate, self.value, self.tail, ordered)


class Nodes:
    """Entities and concepts, in an order that depends only on the program and the knowledge base.

    Args:
        ids: node ids; repeated if several statements led to one node, as in KoPL.
        facts: the statement that led to each id, aligned with `ids`; ``None`` after steps that ground nothing.
        used: the qualifier by which a filter kept each fact, aligned; ``None`` if no qualifier was tested.
        ordered: `ids` are distinct and in the order of the knowledge base.
    """

    # a plain class, because each step makes one, and a dataclass with a cached property takes three times as long
    __slots__ = ("_unique", "facts", "ids", "ordered", "used")

    def __init__(
        self,
        ids: Collection[str],
        facts: Sequence[Statement] | None = None,
        used: Sequence[Qualifier] | None = None,
        ordered: bool = False,
    ) -> None:
        self.ids = ids
        self.facts = facts
        self.used = used
        self.ordered = ordered
        self._unique: dict[str, Any] | None = None

    @property
    def unique(self) -> dict[str, Any]:
        """The distinct ids as keys, in order of first appearance."""
        if self._unique is None:
            self._unique = self.ids if isinstance(self.ids, dict) else dict.fromkeys(self.ids)
        return self._unique


@dataclass(slots=True)
class Answer:
    """The answer of a last step, or the values that a Verify step tests.

    Args:
        text: the answer as KoPL prints it: one text, or a list of texts.
        values: the typed values behind a list, if there are any.
        facts: the statements that were read.
        used: the qualifier that was tested or read, aligned with `facts`; ``None`` if there was none.
    """

    text: str | list[str]
    values: Sequence[Value] = ()
    facts: Sequence[Statement] = ()
    used: Sequence[Qualifier] | None = None
