"""Sampling of attribute filters with values that fit the data: round thresholds between two values, years, dates."""

from __future__ import annotations

import datetime
import math
import random

from bgr.data.atlas.phrasing.phrasebook import OPERATOR_SLOTS
from bgr.data.atlas.question_tree import Condition
from bgr.data.atlas.sampler.index import AtlasIndex
from bgr.data.kb.comparison import year_of
from bgr.data.kb.schema import Statement, Value

KEY_WEIGHTS = {"release date": 4.0, "runtime": 2.0, "box office": 1.5, "number of Academy Awards": 2.0,
               "review score": 1.2, "number of reviews": 0.6}  # fmt: skip
"""Weights of the keys in filters and comparisons; keys that are not listed have weight 1."""

# these identify an entity, so they filter only the set of all entities of a kind
IDENTIFIERS = ("IMDb ID", "chemical symbol", "IATA code", "ICAO code", "ISO 3166-1 alpha-2 code", "top-level domain",
               "calling code", "demonym", "state code", "FIPS code", "atomic number")  # fmt: skip


def conditions_for(
    index: AtlasIndex, members: tuple[str, ...], target: str, key: str, rng: random.Random
) -> Condition | None:
    """A filter on `key` that `target` meets and that other members are likely to fail.

    If the target has several values of the key, the filter includes a qualifier that distinguishes them.
    """
    if key in IDENTIFIERS:
        return None
    statements = index.values(target)[key]
    statement = rng.choice(statements)
    if statement.value is None:
        return None
    several = len(statements) > 1
    qualifier = condition_qualifier(index, statement, rng) if several or rng.random() < 0.5 else None
    if several and qualifier is None:
        return None
    rivals = _rival_values(index, members, target, key, statement.value)
    compared = _comparison(index, key, statement.value, rivals, rng)
    return Condition(key, *compared, qualifier) if compared else None


def condition_qualifier(index: AtlasIndex, statement: Statement, rng: random.Random) -> tuple[str, Value] | None:
    """A random qualifier of the statement that a question can mention, if there is one."""
    usable = usable_qualifiers(index, statement)
    return rng.choice(usable) if usable else None


def usable_qualifiers(index: AtlasIndex, statement: Statement) -> list[tuple[str, Value]]:
    """The qualifiers of a statement that have one value and templates."""
    known = index.book.qualifiers["conditions"]
    return [(key, values[0]) for key, values in statement.qualifiers if len(values) == 1 and key in known]


def _rival_values(index: AtlasIndex, members: tuple[str, ...], target: str, key: str, value: Value) -> list[Value]:
    found = (s.value for n in members if n != target for s in index.values(n).get(key, ()))
    return [v for v in found if v is not None and v.unit == value.unit]


def _comparison(
    index: AtlasIndex, key: str, value: Value, rivals: list[Value], rng: random.Random
) -> tuple[str, Value] | None:
    """An operator and a value with which `value` passes the comparison."""
    ops = [op for op, slot in OPERATOR_SLOTS.items() if index.book.attribute(key, slot)]
    if value.type == "string":
        return ("=", value) if "=" in ops else None
    # people give years and small numbers exactly, and bounds for large numbers
    exact = 2.0 if value.type != "quantity" else _exactness(value)
    weights = [exact if op == "=" else 1.0 for op in ops]
    if not any(weights):
        return None
    op = rng.choices(ops, weights)[0]
    if op == "=":
        return (op, _as_time(value, rng) if value.type != "quantity" else value)
    target = threshold(value, rivals, op, rng)
    return (op, target) if target is not None else None


def threshold(value: Value, rivals: list[Value], op: str, rng: random.Random) -> Value | None:
    """A bound that `value` passes and that as many rivals as possible fail (with ``>``, a bound below `value`).

    Numbers are as round as the gap between the values allows; a bound between times is a year.
    """
    if value.type != "quantity":
        return _year_bound(value, rivals, op, rng)
    assert isinstance(value.value, int | float)
    numbers = [r.value for r in rivals if isinstance(r.value, int | float)]
    if op == ">":
        low = max((n for n in numbers if n < value.value), default=value.value * 0.5)
        bound = round_between(low, value.value, include_low=True)
    else:
        high = min((n for n in numbers if n > value.value), default=value.value * 2 + 1)
        bound = round_between(value.value, high, include_low=False)
    return Value("quantity", bound, value.unit) if bound is not None else None


def _year_bound(value: Value, rivals: list[Value], op: str, rng: random.Random) -> Value | None:
    year, years = year_of(value), [year_of(r) for r in rivals]
    if op == ">":
        low = max((y for y in years if y < year), default=year - rng.randint(1, 10))
        return Value("year", rng.randint(low, year - 1)) if low < year else None
    high = min((y for y in years if y > year), default=year + rng.randint(1, 10))
    return Value("year", rng.randint(year + 1, high)) if high > year else None


def round_between(low: float, high: float, *, include_low: bool) -> float | int | None:
    """The roundest number between two; the lower end is allowed with `include_low`, otherwise the upper end."""
    if not low < high:
        return None
    middle = (low + high) / 2
    for digits in range(1, 8):
        size = 10.0 ** (math.floor(math.log10(abs(middle))) + 1 - digits) if middle else 1.0
        candidate = round(round(middle / size) * size, 10)
        if (low <= candidate < high) if include_low else (low < candidate <= high):
            if not float(candidate).is_integer() and float(low).is_integer() and float(high).is_integer():
                candidate = low if include_low else high
            return int(candidate) if float(candidate).is_integer() else candidate
    return None


def _exactness(value: Value) -> float:
    assert isinstance(value.value, int | float)
    if value.value < 20 and float(value.value).is_integer():
        return 1.0
    return 0.15 if value.value < 1000 else 0.0


def _as_time(value: Value, rng: random.Random) -> Value:
    """A time; dates mostly as their year."""
    if isinstance(value.value, datetime.date) and rng.random() < 0.75:
        return Value("year", value.value.year)
    return value
