"""Conflicts between distractors and gold facts: a distractor must neither entail nor contradict a gold fact.

The test is what a reader of the sentences sees: equal values in different units are the same (1.75 meters and 175
centimeters), and so are entities with the same name.
"""

from __future__ import annotations

import datetime
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

from bgr.data.kb.schema import Fact, Value
from bgr.data.reasongraphqa.construction.textual_database import FactUnit, meaning

DIGITS = 12
"""Significant digits of a converted number; more would distinguish values that differ only by rounding."""

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


def normalize(value: Value) -> Value:
    """The value in its base unit, so that values of the same meaning are equal. Other units are not converted."""
    if value.type != "quantity":
        return value
    base, factor = _BASES.get(value.unit, (value.unit, 1.0))
    return Value("quantity", float(f"{float(value.value) * factor:.{DIGITS}g}"), base)  # type: ignore[arg-type]


def entailed_values(value: Value) -> tuple[Value, ...]:
    """The values that a value entails: itself, normalized, and for a date its year (a year does not entail a date)."""
    if isinstance(value.value, datetime.date):
        return (value, Value("year", value.value.year))
    return (normalize(value),)


SAME_TRIPLE, SAME_VALUE, RESTATED = "same triple", "same value", "restated by a qualifier"
ENTAILMENTS = (SAME_TRIPLE, SAME_VALUE, RESTATED)


class GoldFacts:
    """The content of a question's gold facts, for comparison with distractors.

    Args:
        name: gives the name of an entity or concept by its id.
        facts: the gold facts as the program uses them.
        units: their units, with the facts joined to them.
    """

    def __init__(self, name: Callable[[str], str], facts: Sequence[Fact], units: Iterable[FactUnit]) -> None:
        self._name = name
        stated = [_plain(fact) for unit in units for fact in unit.facts]
        self._meanings = {meaning(fact) for fact in stated}
        self._objects = {(fact.head, self._object(fact)) for fact in stated}
        self._triples = {(fact.head, fact.predicate, fact.tail) for fact in stated}
        self._qualified = {(fact.head, str(value)) for fact in stated for _, value in fact.qualifiers}
        self._asked_times = {
            (fact.head, str(value)) for fact in facts for _, value in fact.qualifiers if value.type in ("date", "year")
        }
        # for a reader of the sentences, entities with the same name are one
        named = [self._named(_plain(fact)) for fact in facts]
        self._named_meanings = {meaning(fact) for fact in named}
        self._named_ends = {end for fact in named for end in (fact.head, fact.tail)}
        # the question means a gold value without qualifiers to be the only one: another would contradict it
        self._single_valued = {
            (fact.head, fact.predicate) for fact in facts if fact.tail is None and not fact.qualifiers
        }
        self._heads = {(name(fact.head), fact.predicate): fact.head for fact in facts}

    def allows(self, unit: FactUnit) -> bool:
        """True if a unit may be a distractor, because none of its facts conflicts with a gold fact."""
        return not any(self._contradicts(fact) for fact in unit.facts) and self.entailment(unit) is None

    def entailment(self, unit: FactUnit) -> str | None:
        """The way in which a unit entails a gold fact, one of `ENTAILMENTS`; ``None`` if it does not."""
        return next((how for fact in unit.facts if (how := self._entailment(_plain(fact))) is not None), None)

    def _contradicts(self, fact: Fact) -> bool:
        if (fact.head, fact.predicate) in self._single_valued:
            return True
        # another entity with the same name, which the question does not distinguish
        return self._heads.get((self._name(fact.head), fact.predicate), fact.head) != fact.head

    def _entailment(self, fact: Fact) -> str | None:
        facts = [fact]
        if fact.value is not None and fact.value.type == "date":
            facts += [replace(fact, value=year) for year in entailed_values(fact.value)[1:]]
        if any(self._states(entailed) for entailed in facts):
            return SAME_VALUE if fact.tail is None else SAME_TRIPLE
        texts = [str(entailed) for _, value in fact.qualifiers for entailed in entailed_values(value)]
        if any((fact.head, text, fact.tail) in self._triples for text in texts):
            return SAME_TRIPLE  # "features X (also its director)"
        if (fact.head, self._object(fact)) in self._qualified:
            return RESTATED
        return RESTATED if any(self._restates(fact, text) for text in texts) else None

    def _states(self, fact: Fact) -> bool:
        if meaning(fact) in self._meanings:
            return True
        return self._name(fact.head) in self._named_ends and meaning(self._named(fact)) in self._named_meanings

    def _restates(self, fact: Fact, qualifier: str) -> bool:
        """True if a qualifier gives the object or the time of a gold fact, whatever its predicate."""
        stated = (fact.head, qualifier)
        return stated in self._objects or stated in self._asked_times

    def _object(self, fact: Fact) -> str:
        return str(fact.value) if fact.tail is None else self._name(fact.tail)

    def _named(self, fact: Fact) -> Fact:
        """The fact with names in place of ids."""
        tail = None if fact.tail is None else self._name(fact.tail)
        return Fact(self._name(fact.head), fact.predicate, fact.value, tail)


def _plain(fact: Fact) -> Fact:
    """The fact with normalized values."""
    if fact.value is None and not fact.qualifiers:
        return fact
    value = None if fact.value is None else normalize(fact.value)
    qualifiers = tuple((key, normalize(found)) for key, found in fact.qualifiers)
    return Fact(fact.head, fact.predicate, value, fact.tail, qualifiers)
