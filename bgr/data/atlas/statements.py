"""Builder of a knowledge base: entities and statements, every relation written at both of its ends."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from bgr.data.kb.schema import NO_UNIT, Value
from bgr.errors import DataError

Raw = Value | str | float
Qualifiers = Mapping[str, Iterable[Raw]]


def to_value(raw: Raw, unit: str = NO_UNIT) -> Value:
    """A text as a string, a number as a quantity: whole numbers become ``int``, others keep six significant digits."""
    if isinstance(raw, Value):
        return raw
    if isinstance(raw, str):
        return Value("string", raw)
    return Value("quantity", int(raw) if float(raw).is_integer() else float(f"{raw:.6g}"), unit)


def name_id(kind: str, name: str) -> str:
    """The id of an entity that is identified by its name: ``C_United_States``.

    The kinds are B (language family), c (concept), C (country), D (discoverer of an element, even if a person in film
    has the same name), K (currency), L (language), O (production company), P (person in film; the source has only
    names, so equal names are one person), R (world region) and Y (chemical family).
    """
    return f"{kind}_{name.replace(' ', '_')}"


class KnowledgeBuilder:
    """Collects concepts, entities and statements; ``to_json`` gives KQA Pro's ``kb.json``.

    Repeated statements are kept once, in insertion order, so that equal input gives equal bytes.
    """

    def __init__(self) -> None:
        self._concepts: dict[str, dict[str, Any]] = {}
        self._entities: dict[str, dict[str, Any]] = {}
        self._seen: set[tuple[str, str, str]] = set()

    def __contains__(self, entity: str) -> bool:
        return entity in self._entities

    def __len__(self) -> int:
        return len(self._entities)

    def concept(self, name: str, *parents: str) -> str:
        """Add a concept below known concepts, given by name. Returns its id."""
        identifier = name_id("c", name)
        self._concepts[identifier] = {"name": name, "subclassOf": [name_id("c", parent) for parent in parents]}
        return identifier

    def entity(self, identifier: str, name: str, *concepts: str) -> str:
        """Add an entity, or concepts (by name) to an entity that exists. Returns its id.

        Raises:
            DataError: an empty name or an unknown concept.
        """
        name = " ".join(name.split())
        ids = {concept: name_id("c", concept) for concept in concepts}
        unknown = [concept for concept in concepts if ids[concept] not in self._concepts]
        if not name or unknown:
            raise DataError(f"entity {identifier}: name {name!r}, unknown concepts {unknown}")
        record = self._entities.setdefault(
            identifier, {"name": name, "instanceOf": [], "attributes": [], "relations": []}
        )
        record["instanceOf"] += [i for i in ids.values() if i not in record["instanceOf"]]
        return identifier

    def named(self, kind: str, name: str, *concepts: str) -> str:
        """Add an entity that is identified by its name (see `name_id`), or concepts to it. Returns its id."""
        return self.entity(name_id(kind, name), name, *concepts)

    def attribute(
        self, entity: str, key: str, value: Raw | None, unit: str = NO_UNIT, qualifiers: Qualifiers | None = None
    ) -> None:
        """Add the statement ``key = value`` of an entity, unless the value is unknown: ``None`` or an empty text."""
        if value is None or value == "":
            return
        found, record = to_value(value, unit), _qualifiers(qualifiers)
        if self._is_new(entity, key, f"{found}|{record}"):
            statement = {"key": key, "value": found.to_json(), "qualifiers": record}
            self._entities[entity]["attributes"].append(statement)

    def relation(self, head: str, predicate: str, tail: str, qualifiers: Qualifiers | None = None) -> None:
        """Add ``head predicate tail``: forward at the head, backward at the tail, with the same qualifiers."""
        if not self._is_new(head, predicate, tail):
            return
        record = _qualifiers(qualifiers)
        for here, there, direction in ((head, tail, "forward"), (tail, head, "backward")):
            self._entities[here]["relations"].append(
                {"relation": predicate, "object": there, "direction": direction, "qualifiers": record}
            )

    def to_json(self) -> dict[str, Any]:
        """``{concepts, entities}`` in KQA Pro's schema."""
        return {"concepts": self._concepts, "entities": self._entities}

    def _is_new(self, entity: str, predicate: str, value: str) -> bool:
        before = len(self._seen)
        self._seen.add((entity, predicate, value))
        return len(self._seen) > before


def _qualifiers(qualifiers: Qualifiers | None) -> dict[str, list[dict[str, Any]]]:
    return {key: [to_value(value).to_json() for value in values] for key, values in (qualifiers or {}).items()}
