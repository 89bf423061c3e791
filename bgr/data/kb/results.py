"""What a step of a program gives: nodes of the knowledge base, or an answer, with the statements behind them."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

from bgr.data.kb.schema import Statement, Value

Qualifier = tuple[str, Value]


class BaseOrder(dict[str, Any]):
    """Node ids as keys, in the order of the base."""


class Nodes:
    """Entities and concepts, in an order that depends on the program and the base alone.

    Args:
        ids: node ids; repeated where several statements led to one node, as in KoPL.
        facts: the statement that led to each id, aligned with `ids`; ``None`` after steps that ground nothing.
        used: the qualifier by which a filter kept each fact, aligned; ``None`` where none was asked for.
        ordered: `ids` are distinct and in the order of the base.
    """

    # a plain class: a program makes one at each step, and a dataclass with a cached property takes three times as long
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
    """The answer of a last step, or the values a Verify step goes on with.

    Args:
        text: as KoPL prints it: one text, or a list of texts.
        values: the typed values behind a list, where there are any.
        facts: the statements that were read.
        used: the qualifier that was asked for or read, aligned with `facts`; ``None`` where none was.
    """

    text: str | list[str]
    values: Sequence[Value] = ()
    facts: Sequence[Statement] = ()
    used: Sequence[Qualifier] | None = None
