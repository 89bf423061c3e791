"""What a step of a program gives: nodes of the knowledge base, or an answer, with the statements behind them."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from bgr.kb.schema import Value
from bgr.kb.statement import Statement

Qualifier = tuple[str, Value]


@dataclass
class Nodes:
    """Entities and concepts, in an order that depends on the program and the base alone.

    Args:
        ids: node ids; repeated where several statements led to one node, as in KoPL.
        facts: the statement that led to each id, aligned with `ids`; ``None`` after steps that ground nothing.
        used: the qualifier by which a filter kept each fact, aligned; ``None`` where none was asked for.
        ordered: `ids` are distinct and in the order of the base.
    """

    ids: Collection[str]
    facts: Sequence[Statement] | None = None
    used: Sequence[Qualifier] | None = None
    ordered: bool = False

    @cached_property
    def unique(self) -> Mapping[str, object]:
        """The distinct ids as keys, in order of first appearance."""
        return self.ids if isinstance(self.ids, Mapping) else dict.fromkeys(self.ids)


@dataclass
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
    facts: Sequence[Statement] = field(default=())
    used: Sequence[Qualifier] | None = None
