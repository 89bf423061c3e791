"""Builder of a knowledge base: entities and statements, every relation written at both of its ends."""

from __future__ import annotations

import datetime
from collections.abc import Iterable, Mapping
from typing import Any

from bgr.data.kb.schema import Value
from bgr.errors import DataError

Qualifiers = Mapping[str, Iterable[Value]]


def text(value: str) -> Value:
    """A string value."""
    return Value("string", value)


def quantity(value: float, unit: str = "1") -> Value:
    """A number with its unit; whole numbers become ``int``, others keep six significant digits."""
    number = int(value) if float(value).is_integer() else float(f"{value:.6g}")
    return Value("quantity", number, unit)


def year(value: int) -> Value:
    """A year value."""
    return Value("year", int(value))


def day(value: datetime.date) -> Value:
    """A date value."""
    return Value("date", value)


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
        identifier = concept_id(name)
        self._concepts[identifier] = {"name": name, "subclassOf": [concept_id(parent) for parent in parents]}
        return identifier

    def entity(self, identifier: str, name: str, *concepts: str) -> str:
        """Add an entity, or concepts (by name) to an entity that exists. Returns its id.

        Raises:
            DataError: an empty name or an unknown concept.
        """
        name = " ".join(name.split())
        unknown = [concept for concept in concepts if concept_id(concept) not in self._concepts]
        if not name or unknown:
            raise DataError(f"entity {identifier}: name {name!r}, unknown concepts {unknown}")
        record = self._entities.setdefault(
            identifier, {"name": name, "instanceOf": [], "attributes": [], "relations": []}
        )
        for concept in concepts:
            if concept_id(concept) not in record["instanceOf"]:
                record["instanceOf"].append(concept_id(concept))
        return identifier

    def attribute(self, entity: str, key: str, value: Value, qualifiers: Qualifiers | None = None) -> None:
        """Add the statement ``key = value`` of an entity."""
        record = _qualifiers(qualifiers)
        statement = {"key": key, "value": value.to_json(), "qualifiers": record}
        if self._is_new(entity, key, f"{value}|{record}"):
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
        key = (entity, predicate, value)
        if key in self._seen:
            return False
        self._seen.add(key)
        return True


def concept_id(name: str) -> str:
    """The id of a concept, from its name."""
    return "c_" + name.replace(" ", "_")


def _qualifiers(qualifiers: Qualifiers | None) -> dict[str, list[dict[str, Any]]]:
    return {key: [value.to_json() for value in values] for key, values in (qualifiers or {}).items()}
