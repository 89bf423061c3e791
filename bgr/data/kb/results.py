"""Results of a program's steps: nodes of the knowledge base, or an answer, with the statements behind them."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

from bgr.data.kb.schema import Statement, Value

Qualifier = tuple[str, Value]


class OrderedIds(dict[str, Any]):
    """Node ids as keys, in the order of the knowledge base."""


class Nodes:
    """Entities and concepts, in an order that depends only on the program and the knowledge base.

    Args:
        ids: node ids; repeated if several statements led to one node, as in KoPL.
        facts: the statement that led to each id, aligned with `ids`; ``None`` after steps that ground nothing.
        used: the qualifier by which a filter kept each fact, aligned; ``None`` if no qualifier was tested.
        ordered: `ids` are distinct and in the order of the knowledge base.
    """

    # a plain class, because each step makes one, and a dataclass with a cached property takes three times as long
    __slots__ = ("_unique", "facts", "ids", "ordered", "used")

    def __init__(
        self,
        ids: Collection[str],
        facts: Sequence[Statement] | None = None,
        used: Sequence[Qualifier] | None = None,
        ordered: bool = False,
    ) -> None:
        self.ids = ids
        self.facts = facts
        self.used = used
        self.ordered = ordered
        self._unique: dict[str, Any] | None = None

    @property
    def unique(self) -> dict[str, Any]:
        """The distinct ids as keys, in order of first appearance."""
        if self._unique is None:
            self._unique = self.ids if isinstance(self.ids, dict) else dict.fromkeys(self.ids)
        return self._unique


@dataclass(slots=True)
class Answer:
    """The answer of a last step, or the values that a Verify step tests.

    Args:
        text: the answer as KoPL prints it: one text, or a list of texts.
        values: the typed values behind a list, if there are any.
        facts: the statements that were read.
        used: the qualifier that was tested or read, aligned with `facts`; ``None`` if there was none.
    """

    text: str | list[str]
    values: Sequence[Value] = ()
    facts: Sequence[Statement] = ()
    used: Sequence[Qualifier] | None = None
