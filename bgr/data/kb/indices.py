"""Indices of a knowledge base, built once when it is loaded.

Each index has a name, one text, so that a program finds it by one look-up. The parts of a name are joined by line
breaks; predicates and keys have none (whitespace is normalized), hence names are unique.
"""

from __future__ import annotations

import sys
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any, TypeVar

from bgr.data.kb.comparison import Column, comparable
from bgr.data.kb.loading import FORWARD, Row
from bgr.data.kb.schema import Statement, Value


def link_name(predicate: str, direction: str) -> str:
    """Name of the index from a node to its neighbors by one relation in one direction."""
    return sys.intern(f"{predicate}\n{direction}")


def column_name(key: str, kind: str, unit: str) -> str:
    """Name of the column of one attribute key's values that are comparable with targets of that kind and unit."""
    return sys.intern(f"{key}\n{kind}\n{unit}")


def target_column(key: str, target: Value, op: str) -> str:
    """Name of the column that a filter reads."""
    return column_name(key, comparable(target, op), target.unit)


MIN_KEYED_NEIGHBORS = 8
"""From this number on, neighbors are stored as keys: ten times the memory, but no step has to make a set of them."""

Neighbors = Collection[str]
"""Node ids: a tuple, or a dictionary from each id to its position."""
Groups = defaultdict[str, list[Statement]]
Name = TypeVar("Name")


class OrderedIds(dict[str, Any]):
    """Node ids as keys, in the order of the knowledge base."""


class Indices:
    """The dictionaries in which the executor looks up; keys are in the order of the knowledge base.

    They are made of all `nodes` and functions that give a node's statements, and its direct and inherited concepts.
    """

    def __init__(
        self,
        nodes: Iterable[str],
        attributes: Callable[[str], Sequence[Statement]],
        relations: Callable[[str], Sequence[Row]],
        concepts: Callable[[str], Iterable[str]],
    ) -> None:
        self.members: dict[str, OrderedIds] = {}
        self.qualifier_keys: dict[str, None] = {}
        self.key_type: dict[str, str] = {}
        by_key: defaultdict[str, Groups] = defaultdict(_groups)
        by_relation: defaultdict[tuple[str, str], Groups] = defaultdict(_groups)
        by_tail: defaultdict[str, Groups] = defaultdict(_groups)
        for node in nodes:
            for concept in concepts(node):
                self.members.setdefault(concept, OrderedIds())[node] = None
            for statement in attributes(node):
                by_key[statement.predicate][node].append(statement)
                self._see_types(statement)
            for statement, direction in relations(node):
                by_relation[statement.predicate, direction][node].append(statement)
                if direction == FORWARD:
                    by_tail[statement.tail or ""][node].append(statement)
                self._see_types(statement)
        self.by_key, self.by_relation, self.by_tail = _frozen(by_key), _frozen(by_relation), _frozen(by_tail)
        self.predicates = dict.fromkeys(predicate for predicate, _ in self.by_relation)
        self.columns = {key: Column(s for found in rows.values() for s in found) for key, rows in self.by_key.items()}
        self.neighbors = {
            link_name(*key): {node: _neighbors(found, key[1]) for node, found in rows.items()}
            for key, rows in self.by_relation.items()
        }
        columns = self.columns.items()
        self.single_values = {column_name(k, *target): v for k, c in columns for target, v in c.single.items()}
        self.multi_values = {column_name(k, *target): v for k, c in columns for target, v in c.multi.items()}
        self.numbers = {key: values for key, column in columns if (values := _numbers(column)) is not None}
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

    def _see_types(self, statement: Statement) -> None:
        types = [(statement.predicate, statement.value)] if statement.value is not None else []
        for key, values in statement.qualifiers:
            self.qualifier_keys.setdefault(key)
            types += [(key, value) for value in values[-1:]]
        for key, value in types:
            self.key_type[key] = "date" if value.type == "year" else value.type


def _groups() -> Groups:
    return defaultdict(list)


def _frozen(rows: Mapping[Name, Groups]) -> dict[Name, dict[str, tuple[Statement, ...]]]:
    # a tuple stores its items in place, which saves one memory access over a list
    return {name: {i: tuple(found) for i, found in groups.items()} for name, groups in rows.items()}


def _neighbors(statements: Sequence[Statement], direction: str) -> Neighbors:
    """The nodes at the other ends; with their positions if there are many and no two are equal."""
    found = tuple(s.tail or "" if direction == FORWARD else s.head for s in statements)
    if len(found) < MIN_KEYED_NEIGHBORS:
        return found
    positions = {node: position for position, node in enumerate(found)}
    return positions if len(positions) == len(found) else found


def _numbers(column: Column) -> dict[str, float] | None:
    """Node to number if each node has at most one value and all quantities have one unit, else ``None``."""
    found = [values for (kind, _), values in column.single.items() if kind == "quantity"]
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
