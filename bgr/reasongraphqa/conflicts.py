"""Which sentences may stand beside a question's gold facts: none that states one of them or contradicts one."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from bgr.kb.knowledge_base import KnowledgeBase
from bgr.kb.schema import Fact
from bgr.reasongraphqa.textual_database import FactUnit, meaning


class GoldFacts:
    """What a question's gold facts say.

    Args:
        kb: gives the names.
        facts: the gold facts as the program uses them.
        units: their units, with what is joined to them.
    """

    def __init__(self, kb: KnowledgeBase, facts: Sequence[Fact], units: Iterable[FactUnit]) -> None:
        self._kb = kb
        stated = [fact for unit in units for fact in unit.facts]
        self._meanings = {meaning(fact) for fact in stated}
        self._objects = {(fact.head, _object(kb, fact)) for fact in stated}
        self._triples = {(fact.head, fact.predicate, fact.tail) for fact in stated}
        self._qualified = {(fact.head, str(value)) for fact in stated for _, value in fact.qualifiers}
        self._asked_times = {
            (fact.head, str(value)) for fact in facts for _, value in fact.qualifiers if value.type in ("date", "year")
        }
        # a value without a qualifier is the one the question means: a second one would contradict it
        self._settled = {(fact.head, fact.predicate) for fact in facts if fact.tail is None and not fact.qualifiers}
        self._heads = {(kb.name(fact.head), fact.predicate): fact.head for fact in facts}

    def allows(self, unit: FactUnit) -> bool:
        """Whether a unit may be a distractor: so may each fact in it."""
        return all(self._allows(fact) for fact in unit.facts)

    def _allows(self, fact: Fact) -> bool:
        if meaning(fact) in self._meanings or (fact.head, fact.predicate) in self._settled:
            return False
        # another entity of the same name: the question cannot tell them apart
        if self._heads.get((self._kb.name(fact.head), fact.predicate), fact.head) != fact.head:
            return False
        if (fact.head, _object(self._kb, fact)) in self._qualified:
            return False
        return not any(self._restates(fact, str(value)) for _, value in fact.qualifiers)

    def _restates(self, fact: Fact, qualifier: str) -> bool:
        """Whether a qualifier tells a gold fact in passing, as in "features X (also its director)"."""
        told = (fact.head, qualifier)
        return told in self._objects or told in self._asked_times or (*told, fact.tail) in self._triples


def _object(kb: KnowledgeBase, fact: Fact) -> str:
    return str(fact.value) if fact.tail is None else kb.name(fact.tail)
