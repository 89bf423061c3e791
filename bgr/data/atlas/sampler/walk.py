"""Sampling of descriptions by walking backward from an entity along statements, so that each has a member.

The values of filters fit the data: round thresholds between two values, years, dates.
"""

from __future__ import annotations

import datetime
import math
import random
from dataclasses import replace

from bgr.data.atlas.phrasing.phrasebook import OPERATOR_SLOTS
from bgr.data.atlas.question_tree import Condition, Description, Link
from bgr.data.atlas.sampler.index import AtlasIndex, Entry
from bgr.data.kb.comparison import year_of
from bgr.data.kb.schema import Value

# weights of the relations into an entity; relations that are not listed have weight 1
ENTRY_WEIGHTS = {
    ("director", "backward"): 3.0, ("cast member", "backward"): 4.0, ("screenwriter", "backward"): 2.0,
    ("production company", "backward"): 1.5, ("director", "forward"): 3.0, ("screenwriter", "forward"): 2.0,
    ("genre", "backward"): 0.4, ("original language", "backward"): 0.4, ("country of origin", "backward"): 0.4,
    ("country", "forward"): 0.7, ("place served", "forward"): 2.0,
}  # fmt: skip
KEY_WEIGHTS = {"release date": 4.0, "runtime": 2.0, "box office": 1.5, "number of Academy Awards": 2.0,
               "review score": 1.2, "number of reviews": 0.6}  # fmt: skip
"""Weights of the keys in filters and comparisons; keys that are not listed have weight 1."""

# these identify an entity, so they filter only the set of all entities of a kind
IDENTIFIERS = ("IMDb ID", "chemical symbol", "IATA code", "ICAO code", "ISO 3166-1 alpha-2 code", "top-level domain",
               "calling code", "demonym", "state code", "FIPS code", "atomic number", "CAS number", "chemical formula",
               "ISO 639-1 code", "ISO 639-3 code", "ISO 15924 code", "official name")  # fmt: skip
MAX_FAN = 40
"""Maximum number of entities that the first link into a described entity leads to."""
MAX_JOIN_FAN = 1200
"""The same for a link that only narrows another ("films by X from the United States")."""


class Walker:
    """Samples descriptions. All random choices come from `rng`.

    Args:
        even: prefer relations that few entities of the kind have; otherwise those of `ENTRY_WEIGHTS`.
    """

    def __init__(self, index: AtlasIndex, rng: random.Random, *, even: bool = False) -> None:
        self.index = index
        self.rng = rng
        self.even = even

    def named(self, node: str) -> Description:
        """An entity by its name; all entities with the name are members."""
        name = self.index.kb.name(node)
        kind = self.index.kind[node]
        return Description(kind, tuple(self.index.kb.ids(name)), name=name)

    def described(
        self, target: str, depth: int, *, joins: float = 0.3, single: bool = True, avoid: frozenset[str] = frozenset()
    ) -> Description | None:
        """A description of `target` whose longest path from a name has `depth` relations, if the walk finds one.

        Args:
            depth: 0 gives the name itself.
            joins: probability that a second relation, not a filter, narrows a set that is too large.
            single: narrow until `target` is the only member.
            avoid: entities that the path must not contain.
        """
        if depth == 0:
            return self.named(target)
        link = self.link(target, depth, joins=joins, avoid=avoid | {target}, max_fan=MAX_FAN)
        if link is None:
            return None
        found = self.of_links(self.index.kind[target], (link,))
        if found is None or target not in found.members:
            return None
        if single and not found.single:
            return self.narrowed(found, target, joins=joins, avoid=avoid | {target})
        return self._with_concept(found)

    def link(
        self, target: str, depth: int, *, joins: float, avoid: frozenset[str], max_fan: int, single: float = 0.85
    ) -> Link | None:
        """A relation to `target` from entities described with ``depth - 1`` relations."""
        entry = self.entry(target, avoid, max_fan)
        if entry is None:
            return None
        only = self.rng.random() < single
        base = self.described(entry.base, depth - 1, joins=joins, single=only, avoid=avoid)
        if base is None or len(base.members) > 4:
            return None
        # "found by the discoverer of {x} in 1885": after a description, the year would seem to belong to it
        qualifier = self._link_qualifier(entry) if base.name is not None else None
        return Link(base, entry.predicate, entry.direction, qualifier)

    def entry(self, target: str, avoid: frozenset[str], max_fan: int) -> Entry | None:
        """A random link into `target`: first a relation is chosen, then one of its statements."""
        groups = {
            relation: allowed
            for relation, entries in self.index.entries(target).items()
            if (allowed := [e for e in entries if e.base not in avoid and e.fan <= max_fan])
        }
        if not groups:
            return None
        relations = list(groups)
        relation = self.rng.choices(relations, self._weights(target, relations))[0]
        return self.rng.choice(groups[relation])

    def _weights(self, target: str, relations: list[tuple[str, str]]) -> list[float]:
        if not self.even:
            return [ENTRY_WEIGHTS.get(relation, 1.0) for relation in relations]
        holders = self.index.holders(self.index.kind[target])
        return [1 / len(holders[relation]) for relation in relations]

    def of_links(self, kind: str, links: tuple[Link, ...], join: str = "And") -> Description | None:
        """The description by links, with its members of one kind; a concept is added if a link leads to other kinds."""
        sets = [self.index.follow(link) for link in links]
        members = dict(sets[0])
        for other in sets[1:]:
            members = {n: None for n in members if n in other} if join == "And" else {**members, **other}
        kept = tuple(n for n in members if self.index.kind.get(n) == kind)
        if not kept:
            return None
        # the program must filter by concept if a link leads to other kinds, or may do so
        mixed = any(len(self.index.book.relations[i.predicate][i.direction]["kinds"]) > 1 for i in links)
        concept = self.index.book.kinds[kind]["concept"] if len(kept) < len(members) or mixed else None
        return Description(kind, kept, links=links, join=join, concept=concept)

    def narrowed(
        self, description: Description, target: str, *, joins: float, avoid: frozenset[str], steps: int = 2
    ) -> Description | None:
        """The description with joins and filters added until `target` is the only member."""
        for _ in range(steps):
            if description.single:
                break
            joining = self.rng.random() < joins and not description.conditions
            better = self.joined(description, target, avoid) if joining else self.filtered(description, target)
            if better is None:
                better = self.filtered(description, target) if joining else self.joined(description, target, avoid)
            if better is None:
                return None
            description = better
        return self._with_concept(description) if description.single else None

    def joined(self, description: Description, target: str, avoid: frozenset[str]) -> Description | None:
        """The description joined (KoPL's And) with a relation that `target` has and some other member lacks."""
        if description.conditions or len(description.links) not in (1, 2) or description.join != "And":
            return None
        best = None
        bases = {link.base.name for link in description.links}
        for _ in range(4):
            depth = 2 if self.rng.random() < 0.2 else 1
            link = self.link(target, depth, joins=0.0, avoid=avoid, max_fan=MAX_JOIN_FAN, single=1.0)
            if link is None or (link.base.name is not None and link.base.name in bases):
                continue
            found = self.of_links(description.kind, (*description.links, link))
            if found is None or target not in found.members or len(found.members) >= len(description.members):
                continue
            if best is None or len(found.members) < len(best.members):
                best = found
            if best.single:
                break
        return best

    def filtered(self, description: Description, target: str) -> Description | None:
        """The description with a filter that `target` meets and others fail, of five the one with fewest members."""
        best = None
        used = {condition.key for condition in description.conditions}
        for _ in range(5):
            condition = self.condition(description.members, target, used)
            if condition is None:
                return best
            members = self.index.keep(description.members, condition)
            if target not in members or len(members) >= len(description.members):
                continue
            if best is None or len(members) < len(best.members):
                best = description.under(condition, members)
            if best.single:
                break
        return best

    def condition(self, members: tuple[str, ...], target: str, used: set[str]) -> Condition | None:
        """A filter by an attribute of `target` that it meets and that other members are likely to fail.

        If the target has several values of the key, the filter includes a qualifier that distinguishes them.
        """
        index, rng = self.index, self.rng
        keys = [key for key in index.values(target) if key not in used]
        if not keys:
            return None
        key = rng.choices(keys, [KEY_WEIGHTS.get(key, 1.0) for key in keys])[0]
        if key in IDENTIFIERS:
            return None
        statements = index.values(target)[key]
        statement = rng.choice(statements)
        value, several = statement.value, len(statements) > 1
        assert value is not None
        usable = index.usable_qualifiers(statement) if several or rng.random() < 0.5 else []
        qualifier = rng.choice(usable) if usable else None
        if several and qualifier is None:
            return None
        others = (s.value for n in members if n != target for s in index.values(n).get(key, ()))
        rivals = [v for v in others if v is not None and v.unit == value.unit]
        ops = [op for op, slot in OPERATOR_SLOTS.items() if index.book.attribute(key, slot)]
        compared = _comparison(ops, value, rivals, rng)
        return Condition(key, *compared, qualifier) if compared else None

    def unfiltered(self, kind: str) -> Description:
        """All entities of a kind."""
        return Description(kind, tuple(self.index.entities[kind]), concept=self.index.book.kinds[kind]["concept"])

    def _with_concept(self, description: Description) -> Description:
        """Sometimes a narrower concept of all members ("drama film"), which keeps all of them."""
        if self.rng.random() > 0.12 or description.kind not in ("film", "human") or description.concept:
            return description
        shared = [c for c in self.index.shared_concepts(description.members) if c != description.kind]
        if not shared:
            return description
        return replace(description, concept=self.rng.choice(shared))

    def _link_qualifier(self, entry: Entry) -> tuple[str, str, Value] | None:
        """Sometimes a qualifier of the relation's statement, which the question then mentions too."""
        if not entry.statement.qualifiers or self.rng.random() > 0.3:
            return None
        key, values = self.rng.choice(entry.statement.qualifiers)
        if key not in self.index.book.qualifiers["conditions"] or len(values) != 1:
            return None
        return (key, "=", values[0])


def _comparison(ops: list[str], value: Value, rivals: list[Value], rng: random.Random) -> tuple[str, Value] | None:
    """One of the operators and a value with which `value` passes the comparison."""
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
