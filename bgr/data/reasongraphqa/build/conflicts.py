"""Which sentences may stand beside a question's gold facts: none that states one of them or contradicts one.

What counts is what a reader of the sentences sees: a value says the same in another unit, and a gold fact is stated by
the same fact about another entity of that name.

One form for values that say the same, whatever their unit: 1.75 metres and 175 centimetres.
"""

from __future__ import annotations

import datetime
from collections.abc import Callable, Iterable, Sequence

from bgr.data.kb.schema import Fact, Value
from bgr.data.reasongraphqa.build.textual_database import FactUnit, meaning

DIGITS = 12
"""Significant digits of a converted number: more would tell apart what only rounding tells apart."""

_FACTORS = {
    "metre": {
        "millimetre": 1e-3,
        "centimetre": 1e-2,
        "kilometre": 1e3,
        "inch": 0.0254,
        "foot": 0.3048,
        "mile": 1609.344,
    },
    "square metre": {"hectare": 1e4, "acre": 4046.8564224, "square kilometre": 1e6, "square mile": 2589988.110336},
    "cubic metre": {"litre": 1e-3, "cubic kilometre": 1e9},
    "kilogram": {"gram": 1e-3, "tonne": 1e3, "pound": 0.45359237},
    "second": {"minute": 60.0, "hour": 3600.0, "day": 86400.0},
    "metre per second": {"kilometre per hour": 1 / 3.6},
    "watt": {"kilowatt": 1e3, "megawatt": 1e6, "gigawatt": 1e9},
    "1": {"percent": 1e-2, "per mille": 1e-3},
}
_BASES = {unit: (base, factor) for base, others in _FACTORS.items() for unit, factor in others.items()}


def normal(value: Value) -> Value:
    """The value in its base unit; two values that say the same have one normal form. Other units stay as they are."""
    if value.type != "quantity":
        return value
    base, factor = _BASES.get(value.unit, (value.unit, 1.0))
    return Value("quantity", float(f"{float(value.value) * factor:.{DIGITS}g}"), base)  # type: ignore[arg-type]


def readings(value: Value) -> tuple[Value, ...]:
    """What a value says: itself in normal form, and for a date its year too (a year does not say the date)."""
    if isinstance(value.value, datetime.date):
        return (value, Value("year", value.value.year))
    return (normal(value),)


SAME_TRIPLE, SAME_VALUE, RESTATED = "same triple", "same value", "restated by a qualifier"
ENTAILMENTS = (SAME_TRIPLE, SAME_VALUE, RESTATED)

Name = Callable[[str], str]


class GoldFacts:
    """What a question's gold facts say.

    Args:
        name: the name of an entity or concept by its id.
        facts: the gold facts as the program uses them.
        units: their units, with what is joined to them.
    """

    def __init__(self, name: Name, facts: Sequence[Fact], units: Iterable[FactUnit]) -> None:
        self._name = name
        stated = [_plain(fact) for unit in units for fact in unit.facts]
        self._meanings = {meaning(fact) for fact in stated}
        self._objects = {(fact.head, self._object(fact)) for fact in stated}
        self._triples = {(fact.head, fact.predicate, fact.tail) for fact in stated}
        self._qualified = {(fact.head, str(value)) for fact in stated for _, value in fact.qualifiers}
        self._asked_times = {
            (fact.head, str(value)) for fact in facts for _, value in fact.qualifiers if value.type in ("date", "year")
        }
        # to the reader of the sentences entities of one name are one
        named = [self._named(_plain(fact)) for fact in facts]
        self._named_meanings = {meaning(fact) for fact in named}
        self._named_ends = {end for fact in named for end in (fact.head, fact.tail)}
        # a value without a qualifier is the one the question means: a second one would contradict it
        self._settled = {(fact.head, fact.predicate) for fact in facts if fact.tail is None and not fact.qualifiers}
        self._heads = {(name(fact.head), fact.predicate): fact.head for fact in facts}

    def allows(self, unit: FactUnit) -> bool:
        """Whether a unit may be a distractor: so may each fact in it."""
        return not any(self._contradicts(fact) for fact in unit.facts) and self.told_by(unit) is None

    def told_by(self, unit: FactUnit) -> str | None:
        """How a unit entails a gold fact, one of `ENTAILMENTS`; ``None`` if it does not."""
        return next((how for fact in unit.facts if (how := self._told_by(_plain(fact))) is not None), None)

    def _contradicts(self, fact: Fact) -> bool:
        if (fact.head, fact.predicate) in self._settled:
            return True
        # another entity of the same name: the question cannot tell them apart
        return self._heads.get((self._name(fact.head), fact.predicate), fact.head) != fact.head

    def _told_by(self, fact: Fact) -> str | None:
        if any(self._says(reading) for reading in _readings(fact)):
            return SAME_VALUE if fact.tail is None else SAME_TRIPLE
        if (fact.head, self._object(fact)) in self._qualified:
            return RESTATED
        told = (str(reading) for _, value in fact.qualifiers for reading in readings(value))
        return RESTATED if any(self._restates(fact, text) for text in told) else None

    def _says(self, fact: Fact) -> bool:
        if meaning(fact) in self._meanings:
            return True
        return self._name(fact.head) in self._named_ends and meaning(self._named(fact)) in self._named_meanings

    def _restates(self, fact: Fact, qualifier: str) -> bool:
        """Whether a qualifier tells a gold fact in passing, as in "features X (also its director)"."""
        told = (fact.head, qualifier)
        return told in self._objects or told in self._asked_times or (*told, fact.tail) in self._triples

    def _object(self, fact: Fact) -> str:
        return str(fact.value) if fact.tail is None else self._name(fact.tail)

    def _named(self, fact: Fact) -> Fact:
        """The fact with names for ids."""
        tail = None if fact.tail is None else self._name(fact.tail)
        return Fact(self._name(fact.head), fact.predicate, fact.value, tail)


def _plain(fact: Fact) -> Fact:
    """The fact with its values in their normal form."""
    if fact.value is None and not fact.qualifiers:
        return fact
    value = None if fact.value is None else normal(fact.value)
    return Fact(
        fact.head, fact.predicate, value, fact.tail, tuple((key, normal(told)) for key, told in fact.qualifiers)
    )


def _readings(fact: Fact) -> tuple[Fact, ...]:
    """All that a fact says: with a date its year too."""
    if fact.value is None or fact.value.type != "date":
        return (fact,)
    return tuple(Fact(fact.head, fact.predicate, value) for value in readings(fact.value))
