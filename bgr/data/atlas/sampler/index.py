"""Index of a knowledge base for the sampler: entities by kind, links into an entity, values by key."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache

from bgr.data.atlas.phrasing.phrasebook import Phrasebook
from bgr.data.atlas.question_tree import Condition, Link
from bgr.data.kb.comparison import matches
from bgr.data.kb.knowledge_base import KnowledgeBase
from bgr.data.kb.loading import OPPOSITE
from bgr.data.kb.schema import Statement, Value


@dataclass(frozen=True)
class Entry:
    """A link into an entity: from `base` by `predicate` in `direction`, which leads from `base` to `fan` entities."""

    base: str
    predicate: str
    direction: str
    statement: Statement
    fan: int


class AtlasIndex:
    """Views of a knowledge base; kinds, relations and attributes without templates in `book` are ignored."""

    def __init__(self, kb: KnowledgeBase, book: Phrasebook) -> None:
        self.kb = kb
        self.book = book
        self.entities: dict[str, list[str]] = {}
        self.kind: dict[str, str] = {}
        for kind, entry in book.kinds.items():
            concept = next((i for i in kb.ids(entry["concept"]) if kb.is_concept(i)), None)
            members = kb.members(concept) if concept is not None else {}
            self.entities[kind] = [i for i in members if not kb.is_concept(i)]
            self.kind.update(dict.fromkeys(self.entities[kind], kind))
        self.entries, self.values = cache(self._entries), cache(self._values)
        self.holders = cache(self._holders)
        self.pool, self.qualifier_values = cache(self._pool), cache(self._qualifier_values)

    def _entries(self, node: str) -> dict[tuple[str, str], list[Entry]]:
        """The links into an entity that have templates, by (predicate, direction)."""
        found: dict[tuple[str, str], list[Entry]] = {}
        for statement, side in self.kb.relations(node):
            direction = OPPOSITE[side]
            wording = self.book.relation(statement.predicate, direction)
            base = (statement.tail if side == "forward" else statement.head) or ""
            if wording is None or self.kind[node] not in wording["kinds"] or base not in self.kind:
                continue
            fan = len(self.kb.relation_rows(statement.predicate, direction).get(base, ()))
            entry = Entry(base, statement.predicate, direction, statement, fan)
            found.setdefault((statement.predicate, direction), []).append(entry)
        return found

    def _values(self, node: str) -> dict[str, list[Statement]]:
        """The attribute statements of an entity, by key; only keys that have templates."""
        found: dict[str, list[Statement]] = {}
        for statement in self.kb.attributes(node):
            if statement.predicate in self.book.attributes:
                found.setdefault(statement.predicate, []).append(statement)
        return found

    def _holders(self, kind: str) -> dict[tuple[str, str] | str, list[str]]:
        """The entities of a kind that a relation leads to, by (predicate, direction), and that have an attribute, by
        key."""
        found: dict[tuple[str, str] | str, list[str]] = {}
        for node in self.entities[kind]:
            features: list[tuple[str, str] | str] = [*self.entries(node), *self.values(node)]
            for feature in features:
                found.setdefault(feature, []).append(node)
        return found

    def usable_qualifiers(self, statement: Statement) -> list[tuple[str, Value]]:
        """The qualifiers of a statement that have one value and templates."""
        known = self.book.qualifiers["conditions"]
        return [(key, values[0]) for key, values in statement.qualifiers if len(values) == 1 and key in known]

    def _pool(self, key: str, unit: str) -> list[Value]:
        """All distinct values of a key in one unit, in the order of the knowledge base; the source of wrong choices."""
        rows = self.kb.attribute_rows(key).values()
        return list(dict.fromkeys(s.value for found in rows for s in found if s.value and s.value.unit == unit))

    def _qualifier_values(self, key: str) -> list[str]:
        """All distinct values of a qualifier key, as sorted texts."""
        kb = self.kb
        statements = (s for i in kb.entities for s in (*kb.attributes(i), *(row[0] for row in kb.relations(i))))
        return sorted({str(value) for statement in statements for value in statement.qualifier(key)})

    def follow(self, link: Link) -> dict[str, None]:
        """The entities that a link leads to, as ordered keys."""
        rows = self.kb.relation_rows(link.predicate, link.direction)
        found: dict[str, None] = {}
        for base in link.base.members:
            for statement in rows.get(base, ()):
                if link.qualifier and not self._qualified(statement, *link.qualifier):
                    continue
                found[(statement.tail if link.direction == "forward" else statement.head) or ""] = None
        return found

    def keep(self, nodes: Iterable[str], condition: Condition) -> tuple[str, ...]:
        """The nodes that meet a condition."""
        return tuple(n for n in nodes if any(self.meets(s, condition) for s in self.values(n).get(condition.key, ())))

    def meets(self, statement: Statement, condition: Condition) -> bool:
        """True if a statement meets a condition on its key."""
        if statement.value is None or not matches(statement.value, condition.value, condition.op):
            return False
        if condition.qualifier is None:
            return True
        key, value = condition.qualifier
        return self._qualified(statement, key, "=", value)

    def shared_concepts(self, nodes: Sequence[str]) -> list[str]:
        """The names of the first node's direct concepts to which all the others belong too."""
        names = [self.kb.name(concept) for concept in self.kb.concepts_of(nodes[0])]
        members = {name: [self.kb.members(i) for i in self.kb.ids(name) if self.kb.is_concept(i)] for name in names}
        return [name for name in names if all(any(n in m for m in members[name]) for n in nodes)]

    @staticmethod
    def _qualified(statement: Statement, key: str, op: str, value: Value) -> bool:
        return any(matches(found, value, op) for found in statement.qualifier(key))
