"""A knowledge base in KQA Pro's form (``kb.json`` of KQA Pro 1.0), indexed so that no step of a program scans it."""

from __future__ import annotations

import gc
import sys
from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

from bgr.data.kb.comparison import Column
from bgr.data.kb.indices import Indices, OrderedIds
from bgr.data.kb.loading import FORWARD, OPPOSITE, Reader, Row, either, label, read_records
from bgr.data.kb.schema import Statement
from bgr.errors import DataError
from bgr.utils.json_utils import repr_short

MAX_CONCEPT_LEVELS = 100


class KnowledgeBase:
    """Entities, concepts and their statements, with the indices that the executor and the dataset builder read.

    Ids are strings; concepts come before entities, each in the order of the file (the "order of the knowledge base").
    A relation stored at both of its ends is one `Statement`. Nothing is added to the file's content, with the exception
    that KoPL makes too: a concept gets the other end of each relation that an entity has with it.

    All names that occur in it are in ``names``, ``concept_names``, ``keys`` (of attributes), ``predicates`` (relations)
    and ``qualifier_keys``. The other attributes serve only the executor; their keys are names from `indices`:

    - ``ids_of_name``: name to nodes;
    - ``neighbors``: link to node to the result of Relate; ``neighbors_of_name``: the same for all nodes of a name;
    - ``single_values``: column to node to comparable value; ``multi_values``: column to node to pairs of comparable
      value and statement, for keys of which some node has several values;
    - ``numbers``: key to node to its only number;
    - ``printed``: key to node to its printed value; ``printed_lists``: the same with lists, if some node has several;
    - ``by_tail``: node to head to the relations between the two.

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
            raise DataError(f"{where}: {repr_short(both)} is both a concept and an entity")
        # Copies made at once are adjacent in memory instead of scattered among the file's other strings, so that a
        # program that visits many nodes reads them from the processor's cache. Statements share them (interned).
        self.concepts: tuple[str, ...] = tuple(sys.intern(f"{i[:1]}{i[1:]}") for i in concepts)
        self.entities: tuple[str, ...] = tuple(sys.intern(f"{i[:1]}{i[1:]}") for i in entities)
        self.all_ids = OrderedIds({i: n for n, i in enumerate([*self.concepts, *self.entities])})
        self._where = where
        self.names_by_id: dict[str, str] = {}
        self._parents: dict[str, tuple[str, ...]] = {}
        self._attributes: dict[str, list[Statement]] = {}
        self._relations: dict[str, list[Row]] = {}
        collecting = gc.isenabled()
        gc.disable()  # collecting while hundreds of thousands of long-lived objects are made triples the time
        try:
            for i in self.concepts:
                self._read_node(f"{where}: concept {i!r}", i, concepts[i])
            for i in self.entities:
                self._read_node(f"{where}: entity {i!r}", i, entities[i])
            self._read_statements(where, entities)
            ids_of_name: defaultdict[str, list[str]] = defaultdict(list)
            for i, name in self.names_by_id.items():
                ids_of_name[name].append(i)
            self.ids_of_name = {name: tuple(ids) for name, ids in ids_of_name.items()}
            index = self._index = Indices(self.all_ids, self.attributes, self.relations, self.all_concepts_of)
            self.neighbors, self.neighbors_of_name = index.neighbors, index.neighbors_of_name(self.ids_of_name)
            self.single_values, self.multi_values, self.by_tail = index.single_values, index.multi_values, index.by_tail
            self.numbers, self.printed, self.printed_lists = index.numbers, index.printed, index.printed_lists
            self._members_of_name = {self.name(i): self._merged(self.name(i)) for i in index.members}
            self.names: Collection[str] = self.ids_of_name
            self.concept_names: Collection[str] = frozenset(map(self.name, self.concepts))
            self.keys: Collection[str] = index.by_key
            self.predicates: Collection[str] = index.predicates
            self.qualifier_keys: Collection[str] = index.qualifier_keys
        finally:
            if collecting:
                gc.enable()

    @classmethod
    def load(cls, path: str | Path, *, progress: bool = False) -> KnowledgeBase:
        """Read a ``kb.json``, or the one in a folder; `progress` shows a bar of bytes on standard error.

        Raises:
            DataError: the file is missing or truncated, or a record is invalid.
        """
        path = Path(path)
        path = path / "kb.json" if path.is_dir() else path
        return cls(read_records(path, progress=progress), str(path))

    # -- nodes --------------------------------------------------------------------------------------------------------

    def name(self, node: str) -> str:
        """The name of an entity or concept."""
        return self.names_by_id[node]

    def ids(self, name: str) -> Sequence[str]:
        """All entities and concepts of that name, in the order of the knowledge base; empty if there is none."""
        return self.ids_of_name.get(name, ())

    def is_concept(self, node: str) -> bool:
        return self.all_ids[node] < len(self.concepts)

    def concepts_of(self, node: str) -> tuple[str, ...]:
        """The concepts a node belongs to directly (``instanceOf``, ``subclassOf``)."""
        return self._parents[node]

    def all_concepts_of(self, node: str) -> tuple[str, ...]:
        """Direct and inherited concepts, nearest first.

        Raises:
            DataError: the hierarchy has more than `MAX_CONCEPT_LEVELS` levels (checked when the file is loaded).
        """
        found: dict[str, None] = {}
        level = [parent for parent in self._parents[node] if parent != node]
        for _ in range(MAX_CONCEPT_LEVELS + 1):
            if not level:
                return tuple(found)
            found.update(dict.fromkeys(level))
            above = [parent for child in level for parent in self._parents[child]]
            level = [parent for parent in dict.fromkeys(above) if parent not in found]
        raise DataError(f"{self._where}: {node!r} has more than {MAX_CONCEPT_LEVELS} levels of concepts above it")

    def members(self, concept: str) -> Mapping[str, None]:
        """The nodes that belong to a concept, its sub-concepts and their members included, as ordered keys."""
        return self._index.members.get(concept, {})

    def members_of_name(self, name: str) -> OrderedIds:
        """The members of all concepts of that name, as ordered keys: the result of FilterConcept."""
        return self._members_of_name.get(name) or OrderedIds()

    # -- statements ---------------------------------------------------------------------------------------------------

    def attributes(self, node: str) -> Sequence[Statement]:
        """The attribute statements of a node, in the order of the file."""
        return self._attributes.get(node, ())

    def relations(self, node: str) -> Sequence[Row]:
        """The ``(statement, direction)`` pairs of a node: forward if it is the head, backward if it is the tail."""
        return self._relations.get(node, ())

    def key_type(self, key: str) -> str | None:
        """Type of a key's values, attribute or qualifier: string, quantity or date (years too); ``None`` if unknown.

        If a key has values of several types, the last one of the file decides, as in KoPL.
        """
        return self._index.key_type.get(key)

    def attribute_rows(self, key: str) -> Mapping[str, Sequence[Statement]]:
        """Entity to its statements of one attribute key, in the order of the knowledge base."""
        return self._index.by_key.get(key, {})

    def relation_rows(self, predicate: str, direction: str) -> Mapping[str, Sequence[Statement]]:
        """Entity to its statements of one relation, as their head (forward) or tail (backward)."""
        return self._index.by_relation.get((predicate, direction), {})

    def between(self, head: str, tail: str) -> Sequence[Statement]:
        """The relations from `head` to `tail` that are stored at the head."""
        return self.by_tail.get(tail, {}).get(head, ())

    def column(self, key: str) -> Column:
        """The sorted columns of one attribute key."""
        return self._index.columns.get(key) or Column(())

    # -- building -----------------------------------------------------------------------------------------------------

    def _merged(self, name: str) -> OrderedIds:
        groups = [self._index.members[i] for i in self.ids(name) if i in self._index.members]
        if len(groups) == 1:
            return groups[0]
        return OrderedIds(dict.fromkeys(sorted({i for group in groups for i in group}, key=self.all_ids.__getitem__)))

    def _read_node(self, where: str, node: str, record: Any) -> None:
        if not isinstance(record, Mapping):
            raise DataError(f"{where}: must be an object, is {repr_short(record)}")
        try:
            self.names_by_id[node], parents = label(record["name"]), either(record, "instanceOf", "subclassOf")
            if not isinstance(parents, list):
                raise DataError(f"'instanceOf' must be a list, is {repr_short(parents)}")
            if not all(isinstance(i, str) for i in parents):
                raise DataError(f"'instanceOf' is {repr_short(parents)}, allowed: a list of ids")
            # as in KoPL, a concept that is not in the file is ignored
            self._parents[node] = tuple(sys.intern(i) for i in parents if i in self.all_ids)
        except KeyError as error:
            raise DataError(f"{where}: field {error.args[0]!r} is missing") from None
        except DataError as error:
            raise DataError(f"{where}: {error}") from None

    def _read_statements(self, where: str, entities: Mapping[str, Any]) -> None:
        reader = Reader()
        at_concepts: dict[str, dict[Row, None]] = {i: {} for i in self.concepts}
        rows: dict[str, list[Row]] = {}
        for i in self.entities:
            record = entities[i]
            place = f"{where}: entity {i!r}"
            self._attributes[i] = reader.attributes(place, i, record)
            rows[i] = reader.relations(place, i, record, self.all_ids)
            for statement, direction in rows[i]:
                other = statement.tail if direction == FORWARD else statement.head
                if other in at_concepts:
                    at_concepts[other].setdefault((statement, OPPOSITE[direction]))
        self._relations = {**{i: list(found) for i, found in at_concepts.items()}, **rows}


def _section(where: str, records: Any, name: str) -> Mapping[str, Any]:
    found = records.get(name) if isinstance(records, Mapping) else None
    if not isinstance(found, Mapping):
        raise DataError(f"{where}: field {name!r} must be an object of id: record")
    return found
