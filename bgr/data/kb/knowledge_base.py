"""A knowledge base in KQA Pro's form, indexed so that no step of a program scans it (KQA Pro 1.0, ``kb.json``)."""

from __future__ import annotations

import gc
import sys
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

from bgr.data.kb.columns import Column
from bgr.data.kb.indices import Indices
from bgr.data.kb.loading import BACKWARD, FORWARD, Reader, Row, either, label
from bgr.data.kb.records import read_records
from bgr.data.kb.results import BaseOrder
from bgr.data.kb.schema import Statement
from bgr.errors import DataError
from bgr.utils.json_utils import shown

MOST_LEVELS = 100
"""Of concepts above a node."""


class KnowledgeBase:
    """Entities, concepts and their statements, with the indices that the executor and the dataset builder read.

    Ids are strings; concepts come before entities, each in the order of the file ("order of the base" below).
    A relation stored at both of its ends is one `Statement`. Nothing is invented, with one exception that KoPL makes
    too: a concept gets the other end of each relation that an entity has with it.

    For the executor alone, by names of `index_names`, shared and not to be changed: `found` (name to nodes), `ends`
    (link to node to what Relate gives for it), `ends_of_names` (the same for all nodes of a name), `bare` (column to
    node to comparable value), `several` (column to node to pairs of comparable value and statement, for keys that some
    node has several values of), `numbers` (key to node to its only number), `text` and `texts` (key to node to its
    printed value, or to all of them where some node has several), `by_tail` (node to head to the relations between).

    Args:
        records: the parsed ``kb.json``: ``{concepts: {...}, entities: {...}}``, both spellings of each field allowed.
        where: name for error messages, usually the path.

    Raises:
        DataError: a record cannot be used; the message names file, entity and field.
    """

    def __init__(self, records: Mapping[str, Any], where: str = "kb.json") -> None:
        concepts, entities = (_section(where, records, name) for name in ("concepts", "entities"))
        both = next((i for i in entities if i in concepts), None)
        if both is not None:
            raise DataError(f"{where}: {shown(both)} is both a concept and an entity")
        # Copies made in one go lie side by side in memory, and not between all the other strings of the file: a program
        # that goes through many nodes reads them out of the processor's cache. The statements share them (interned).
        self.concepts: tuple[str, ...] = tuple(sys.intern(_copy(i)) for i in concepts)
        self.entities: tuple[str, ...] = tuple(sys.intern(_copy(i)) for i in entities)
        self.everything = BaseOrder({i: n for n, i in enumerate([*self.concepts, *self.entities])})
        self._where = where
        self.names_by_id: dict[str, str] = {}
        self._parents: dict[str, tuple[str, ...]] = {}
        self._ids_by_name: dict[str, list[str]] = {}
        self._attributes: dict[str, list[Statement]] = {}
        self._relations: dict[str, list[Row]] = {}
        collecting = gc.isenabled()
        gc.disable()  # hundreds of thousands of long-lived objects: collecting while they arrive triples the time
        try:
            for i in self.concepts:
                self._read_node(f"{where}: concept {i!r}", i, concepts[i])
            for i in self.entities:
                self._read_node(f"{where}: entity {i!r}", i, entities[i])
            self._read_statements(where, entities)
            self.found = {name: tuple(ids) for name, ids in self._ids_by_name.items()}
            self._index = Indices(self.everything, self.attributes, self.relations, self.all_concepts_of)
            self.ends, self.bare, self.several = self._index.ends, self._index.bare, self._index.several
            self.numbers, self.text, self.texts = self._index.numbers, self._index.text, self._index.texts
            self.by_tail = self._index.by_tail
            self.ends_of_names = self._index.ends_of_names(self._ids_by_name)
            self._members_of_name = {self.name(i): self._merged(self.name(i)) for i in self._index.members}
        finally:
            if collecting:
                gc.enable()

    @classmethod
    def load(cls, path: str | Path, *, progress: bool = False) -> KnowledgeBase:
        """Read a ``kb.json``, or the one in a folder; `progress` shows a bar of bytes on standard error.

        Raises:
            DataError: the file is missing, cut off, or holds a record that cannot be used.
        """
        path = Path(path)
        path = path / "kb.json" if path.is_dir() else path
        return cls(read_records(path, progress=progress), str(path))

    # -- what a node is -----------------------------------------------------------------------------------------------

    def name(self, node: str) -> str:
        """The name of an entity or concept."""
        return self.names_by_id[node]

    def ids(self, name: str) -> Sequence[str]:
        """All entities and concepts of that name, in the order of the base; empty if there is none."""
        return self._ids_by_name.get(name, ())

    @property
    def names(self) -> Collection[str]:
        """All names of entities and concepts, each once."""
        return self._ids_by_name.keys()

    def is_concept(self, node: str) -> bool:
        return self.everything[node] < len(self.concepts)

    def concepts_of(self, node: str) -> tuple[str, ...]:
        """The concepts a node belongs to directly (``instanceOf``, ``subclassOf``)."""
        return self._parents[node]

    def all_concepts_of(self, node: str) -> tuple[str, ...]:
        """Direct and inherited concepts, nearest first.

        Raises:
            DataError: the hierarchy is deeper than any of this world; found when the base is loaded.
        """
        found: dict[str, None] = {}
        waiting = [parent for parent in self._parents[node] if parent != node]
        levels = 0
        while waiting:
            levels += 1
            if levels > MOST_LEVELS:
                raise DataError(f"{self._where}: {node!r} has more than {MOST_LEVELS} levels of concepts above it")
            found.update(dict.fromkeys(waiting))
            above = [parent for child in waiting for parent in self._parents[child]]
            waiting = [parent for parent in dict.fromkeys(above) if parent not in found]
        return tuple(found)

    def members(self, concept: str) -> Mapping[str, None]:
        """The nodes that belong to a concept (those of its sub-concepts and the sub-concepts too), as ordered keys."""
        return self._index.members.get(concept, {})

    def members_of_name(self, name: str) -> BaseOrder:
        """The members of all concepts of that name, as ordered keys: what FilterConcept keeps."""
        return self._members_of_name.get(name) or BaseOrder()

    # -- statements ---------------------------------------------------------------------------------------------------

    def attributes(self, node: str) -> Sequence[Statement]:
        """The attribute statements of a node, in the order of the file."""
        return self._attributes.get(node, ())

    def relations(self, node: str) -> Sequence[Row]:
        """The ``(statement, direction)`` pairs of a node: forward where it is the head, backward where the tail."""
        return self._relations.get(node, ())

    @property
    def keys(self) -> Collection[str]:
        """All attribute keys (qualifier keys are in `qualifier_keys`)."""
        return self._index.by_key.keys()

    @property
    def predicates(self) -> Collection[str]:
        """All relation names."""
        return self._index.predicates.keys()

    @property
    def qualifier_keys(self) -> Collection[str]:
        return self._index.qualifier_keys.keys()

    def key_type(self, key: str) -> str | None:
        """Kind of a key's values, attribute or qualifier: string, quantity or date (years too); ``None`` if unknown.

        Where a key has values of several types the last one of the file decides, as in KoPL.
        """
        return self._index.key_type.get(key)

    def attribute_rows(self, key: str) -> Mapping[str, Sequence[Statement]]:
        """Entity to its statements of one attribute key, in the order of the base."""
        return self._index.by_key.get(key, {})

    def relation_rows(self, predicate: str, direction: str) -> Mapping[str, Sequence[Statement]]:
        """Entity to its statements of one relation in which it is the head (forward) or tail (backward)."""
        return self._index.by_relation.get((predicate, direction), {})

    def between(self, head: str, tail: str) -> Sequence[Statement]:
        """The relations that lead from `head` to `tail`, as far as they are stored at the head."""
        return self.by_tail.get(tail, {}).get(head, ())

    def column(self, key: str) -> Column:
        """The sorted columns of one attribute key."""
        return self._index.columns.get(key) or Column(())

    # -- building -----------------------------------------------------------------------------------------------------

    def _merged(self, name: str) -> BaseOrder:
        groups = [self._index.members[i] for i in self.ids(name) if i in self._index.members]
        if len(groups) == 1:
            return groups[0]
        return BaseOrder(dict.fromkeys(sorted({i for group in groups for i in group}, key=self.everything.__getitem__)))

    def _read_node(self, where: str, node: str, record: Any) -> None:
        if not isinstance(record, Mapping):
            raise DataError(f"{where}: is {shown(record)}, allowed: an object")
        try:
            name, parents = label(record["name"]), either(record, "instanceOf", "subclassOf")
            if not isinstance(parents, list):
                raise DataError(f"'instanceOf' must be a list, is {shown(parents)}")
            if not all(isinstance(i, str) for i in parents):
                raise DataError(f"'instanceOf' is {shown(parents)}, allowed: a list of ids")
            # as in KoPL, a concept that the file does not hold is passed over
            self._parents[node] = tuple(sys.intern(i) for i in parents if i in self.everything)
        except KeyError as error:
            raise DataError(f"{where}: field {error.args[0]!r} is missing") from None
        except DataError as error:
            raise DataError(f"{where}: {error}") from None
        self.names_by_id[node] = name
        self._ids_by_name.setdefault(name, []).append(node)

    def _read_statements(self, where: str, entities: Mapping[str, Any]) -> None:
        reader = Reader()
        at_concepts: dict[str, dict[Row, None]] = {i: {} for i in self.concepts}
        rows: dict[str, list[Row]] = {}
        for i in self.entities:
            record = entities[i]
            place = f"{where}: entity {i!r}"
            self._attributes[i] = reader.attributes(place, i, record)
            rows[i] = reader.relations(place, i, record, self.everything)
            for statement, direction in rows[i]:
                other = statement.tail if direction == FORWARD else statement.head
                if other in at_concepts:
                    opposite = BACKWARD if direction == FORWARD else FORWARD
                    at_concepts[other].setdefault((statement, opposite))
        self._relations = {**{i: list(found) for i, found in at_concepts.items()}, **rows}


def _copy(text: str) -> str:
    return f"{text[:1]}{text[1:]}"


def _section(where: str, records: Any, name: str) -> Mapping[str, Any]:
    found = records.get(name) if isinstance(records, Mapping) else None
    if not isinstance(found, Mapping):
        raise DataError(f"{where}: field {name!r} must hold an object of id: record")
    return found
