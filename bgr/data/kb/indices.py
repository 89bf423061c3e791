"""Indices of a knowledge base, built once when it is loaded.

Each index has a name, one text, so that a program finds it by one look-up. The parts of a name are joined by line
breaks; predicates and keys have none (whitespace is normalized), hence names are unique.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any

from bgr.data.kb.comparison import Column
from bgr.data.kb.loading import FORWARD, Row
from bgr.data.kb.schema import Statement, Value


def link_name(predicate: str, direction: str) -> str:
    """Name of the index from a node to its neighbors by one relation in one direction."""
    return sys.intern(f"{predicate}\n{direction}")


def column_name(key: str, kind: str, unit: str) -> str:
    """Name of the column of one attribute key's values that are comparable with targets of that kind and unit."""
    return sys.intern(f"{key}\n{kind}\n{unit}")


def target_column(key: str, target: Value, op: str) -> str:
    """Name of the column that a filter reads. Order between dates needs a column without years."""
    kind = "date in order" if target.type == "date" and op != "=" else target.type
    return column_name(key, kind, target.unit)


MIN_KEYED_NEIGHBORS = 8
"""From this number on, neighbors are stored as keys: ten times the memory, but no step has to make a set of them."""

Neighbors = Collection[str]
"""Node ids: a tuple, or a dictionary from each id to its position."""


class OrderedIds(dict[str, Any]):
    """Node ids as keys, in the order of the knowledge base."""


class Indices:
    """The dictionaries in which the executor looks up; keys are in the order of the knowledge base.

    Args:
        nodes: all concepts and entities.
        attributes: a node's attribute statements.
        relations: a node's relation statements with their directions.
        concepts: a node's direct and inherited concepts.
    """

    def __init__(
        self,
        nodes: Iterable[str],
        attributes: Callable[[str], Sequence[Statement]],
        relations: Callable[[str], Sequence[Row]],
        concepts: Callable[[str], Iterable[str]],
    ) -> None:
        self.members: dict[str, OrderedIds] = {}
        self._by_key: dict[str, dict[str, list[Statement]]] = {}
        self._by_relation: dict[tuple[str, str], dict[str, list[Statement]]] = {}
        self._between: dict[str, dict[str, list[Statement]]] = {}
        self.qualifier_keys: dict[str, None] = {}
        self.key_type: dict[str, str] = {}
        for node in nodes:
            for concept in concepts(node):
                self.members.setdefault(concept, OrderedIds())[node] = None
            for statement in attributes(node):
                self._add_attribute(node, statement)
            for statement, direction in relations(node):
                self._add_relation(node, statement, direction)
        # a tuple stores its items in place, which saves one memory access over a list
        self.by_key = {key: {i: tuple(found) for i, found in rows.items()} for key, rows in self._by_key.items()}
        self.by_relation = {
            key: {i: tuple(found) for i, found in rows.items()} for key, rows in self._by_relation.items()
        }
        self.by_tail = {tail: {i: tuple(found) for i, found in rows.items()} for tail, rows in self._between.items()}
        del self._by_key, self._by_relation, self._between
        self.predicates = dict.fromkeys(predicate for predicate, _ in self.by_relation)
        self.columns = {key: Column(s for found in rows.values() for s in found) for key, rows in self.by_key.items()}
        self.neighbors = {
            link_name(*key): {node: _neighbors(found, key[1]) for node, found in rows.items()}
            for key, rows in self.by_relation.items()
        }
        self.single_values = {
            column_name(key, kind, unit): values
            for key, column in self.columns.items()
            for (kind, unit), values in column.single_value_columns().items()
        }
        self.multi_values = {
            column_name(key, kind, unit): {i: tuple(found) for i, found in values.items()}
            for key, column in self.columns.items()
            for (kind, unit), values in column.multi_value_columns().items()
        }
        self.numbers = {key: values for key, column in self.columns.items() if (values := _numbers(column)) is not None}
        texts = _texts(self.by_key)
        self.printed = {
            key: {i: found[0] for i, found in rows.items()}
            for key, rows in texts.items()
            if all(len(found) == 1 for found in rows.values())
        }
        self.printed_lists = {key: rows for key, rows in texts.items() if key not in self.printed}

    def neighbors_of_name(self, ids_by_name: Mapping[str, Sequence[str]]) -> dict[str, dict[str, Neighbors]]:
        """Link name to node name to the neighbors of all nodes of that name."""
        alone = {ids[0]: name for name, ids in ids_by_name.items() if len(ids) == 1}
        shared = [(name, ids) for name, ids in ids_by_name.items() if len(ids) > 1]
        found: dict[str, dict[str, Neighbors]] = {}
        for link, rows in self.neighbors.items():
            by_name = found[link] = {alone[i]: ends for i, ends in rows.items() if i in alone}
            for name, ids in shared:
                ends = tuple(end for i in ids for end in rows.get(i, ()))
                if ends:
                    by_name[name] = ends
        return found

    def _add_attribute(self, node: str, statement: Statement) -> None:
        assert statement.value is not None
        self._see_type(statement.predicate, statement.value.type)
        self._by_key.setdefault(statement.predicate, {}).setdefault(node, []).append(statement)
        self._add_qualifiers(statement)

    def _add_relation(self, node: str, statement: Statement, direction: str) -> None:
        self._by_relation.setdefault((statement.predicate, direction), {}).setdefault(node, []).append(statement)
        if direction == FORWARD:
            self._between.setdefault(statement.tail or "", {}).setdefault(node, []).append(statement)
        self._add_qualifiers(statement)

    def _add_qualifiers(self, statement: Statement) -> None:
        for key, values in statement.qualifiers:
            self.qualifier_keys.setdefault(key)
            if values:
                self._see_type(key, values[-1].type)

    def _see_type(self, key: str, kind: str) -> None:
        self.key_type[key] = "date" if kind == "year" else kind


def _neighbors(statements: Sequence[Statement], direction: str) -> Neighbors:
    """The nodes at the other ends; with their positions if there are many and no two are equal."""
    found = tuple(s.tail or "" if direction == FORWARD else s.head for s in statements)
    if len(found) < MIN_KEYED_NEIGHBORS:
        return found
    positions = {node: position for position, node in enumerate(found)}
    return positions if len(positions) == len(found) else found


def _numbers(column: Column) -> dict[str, float] | None:
    """Node to number if each node has at most one value and all quantities have one unit, else ``None``."""
    found = [values for (kind, _), values in column.single_value_columns().items() if kind == "quantity"]
    return found[0] if len(found) == 1 else None


def _texts(by_key: Mapping[str, Mapping[str, Sequence[Statement]]]) -> dict[str, dict[str, tuple[str, ...]]]:
    """Key to node to the node's values as KoPL prints them; equal values share one text."""
    printed: dict[int, str] = {}

    def text(statement: Statement) -> str:
        # values live as long as the knowledge base and equal ones are one object, so the address identifies the value
        found = printed.get(id(statement.value))
        if found is None:
            found = printed[id(statement.value)] = str(statement.value)
        return found

    return {key: {i: tuple(map(text, found)) for i, found in rows.items()} for key, rows in by_key.items()}
