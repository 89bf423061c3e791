"""The indices of a knowledge base, built once when it is loaded."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence

from bgr.kb.columns import Column
from bgr.kb.loading import FORWARD, Row
from bgr.kb.results import Nodes
from bgr.kb.statement import Statement

MANY = 8
"""From so many neighbours on they are kept as keys: ten times the memory, and no step has to make a set of them."""


class Indices:
    """What the executor looks up; keys are in the order of the base.

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
        self.members: dict[str, dict[str, None]] = {}
        self._by_key: dict[str, dict[str, list[Statement]]] = {}
        self._by_relation: dict[tuple[str, str], dict[str, list[Statement]]] = {}
        self.between: dict[tuple[str, str], list[Statement]] = {}
        self.qualifier_keys: dict[str, None] = {}
        self.key_type: dict[str, str] = {}
        for node in nodes:
            for concept in concepts(node):
                self.members.setdefault(concept, {})[node] = None
            for statement in attributes(node):
                self._add_attribute(node, statement)
            for statement, direction in relations(node):
                self._add_relation(node, statement, direction)
        # tuples hold their items in place: one step less to them than through a list
        self.by_key = {key: {i: tuple(found) for i, found in rows.items()} for key, rows in self._by_key.items()}
        self.by_relation = {
            key: {i: tuple(found) for i, found in rows.items()} for key, rows in self._by_relation.items()
        }
        del self._by_key, self._by_relation
        self.predicates = dict.fromkeys(predicate for predicate, _ in self.by_relation)
        self.columns = {key: Column(s for found in rows.values() for s in found) for key, rows in self.by_key.items()}
        self.neighbours = {
            key: {node: Nodes(_ends(found, key[1]), found) for node, found in rows.items()}
            for key, rows in self.by_relation.items()
        }

    def _add_attribute(self, node: str, statement: Statement) -> None:
        assert statement.value is not None
        self._see_type(statement.predicate, statement.value.type)
        self._by_key.setdefault(statement.predicate, {}).setdefault(node, []).append(statement)
        self._add_qualifiers(statement)

    def _add_relation(self, node: str, statement: Statement, direction: str) -> None:
        self._by_relation.setdefault((statement.predicate, direction), {}).setdefault(node, []).append(statement)
        if direction == FORWARD:
            self.between.setdefault((node, statement.tail or ""), []).append(statement)
        self._add_qualifiers(statement)

    def _add_qualifiers(self, statement: Statement) -> None:
        for key, values in statement.qualifiers:
            self.qualifier_keys.setdefault(key)
            if values:
                self._see_type(key, values[-1].type)

    def _see_type(self, key: str, kind: str) -> None:
        self.key_type[key] = "date" if kind == "year" else kind


def _ends(statements: Sequence[Statement], direction: str) -> Collection[str]:
    """The nodes at the other ends; keys of an object where there are many and no two are equal."""
    found = tuple(s.tail or "" if direction == FORWARD else s.head for s in statements)
    if len(found) < MANY:
        return found
    keys = dict.fromkeys(found)
    return keys if len(keys) == len(found) else found
