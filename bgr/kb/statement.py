"""A statement as the knowledge base stores it: with all its qualifiers, once for both of its ends."""

from __future__ import annotations

from dataclasses import dataclass

from bgr.kb.schema import Fact, Value

Qualifiers = tuple[tuple[str, tuple[Value, ...]], ...]


@dataclass(frozen=True, slots=True, eq=False)
class Statement:
    """An attribute (`value`) or a relation (`tail`) of `head`; compared by identity.

    Args:
        number: place in the knowledge base, in the order of the file.
        head: id of the subject.
        predicate: attribute key or relation name.
        value: the attribute's value; ``None`` for a relation.
        tail: id of the relation's object; ``None`` for an attribute.
        qualifiers: ``(key, values)`` pairs in the order of the file.
    """

    number: int
    head: str
    predicate: str
    value: Value | None = None
    tail: str | None = None
    qualifiers: Qualifiers = ()

    @property
    def is_relation(self) -> bool:
        return self.tail is not None

    def qualifier(self, key: str) -> tuple[Value, ...]:
        """The values of one qualifier key; empty where there is none."""
        for name, values in self.qualifiers:
            if name == key:
                return values
        return ()

    def fact(self, qualifiers: tuple[tuple[str, Value], ...] = ()) -> Fact:
        """The statement as a fact, with those of its qualifiers that are wanted."""
        ordered = tuple(sorted(set(qualifiers), key=lambda pair: (pair[0], pair[1].type, str(pair[1]))))
        return Fact(self.head, self.predicate, self.value, self.tail, ordered)
