"""KoPL functions that give values or an answer: pure functions of the knowledge base, earlier results and inputs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from bgr.data.kb.comparison import matcher, parse_target
from bgr.data.kb.knowledge_base import KnowledgeBase
from bgr.data.kb.results import Answer, Nodes, Qualifier
from bgr.data.kb.schema import Statement, Value
from bgr.errors import DataError


def what(kb: KnowledgeBase, nodes: Nodes) -> Answer:
    names = kb.names_by_id
    return Answer([names[i] for i in nodes.ids])


def count(kb: KnowledgeBase, nodes: Nodes) -> Answer:
    """Count nodes. As in KoPL, a node counts once for each statement that led to it."""
    return Answer(str(len(nodes.ids)))


def select_between(kb: KnowledgeBase, left: Nodes, right: Nodes, key: str, order: str) -> Answer:
    facts = _common_unit([*_facts(kb, left.ids, key), *_facts(kb, right.ids, key)], key)
    # among equal values KoPL takes the first for "less", the last for "greater"
    chosen = min(facts, key=_number) if order == "less" else max(reversed(facts), key=_number)
    return Answer(kb.name(chosen.head), facts=facts)


def select_among(kb: KnowledgeBase, nodes: Nodes, key: str, order: str) -> Answer:
    facts = _common_unit(_facts(kb, nodes.unique, key), key)
    best = (min if order == "smallest" else max)(map(_number, facts))
    names = dict.fromkeys(kb.name(fact.head) for fact in facts if _number(fact) == best)
    return Answer(list(names), facts=facts)


def query_attribute(kb: KnowledgeBase, nodes: Nodes, key: str) -> Answer:
    return _values(_facts(kb, nodes.ids, key))


def query_attribute_under_condition(kb: KnowledgeBase, nodes: Nodes, key: str, qualifier: str, text: str) -> Answer:
    fits = matcher(target_of_key(kb, qualifier, text), "=")
    facts, used = [], []
    for fact in _facts(kb, nodes.ids, key):
        for value in fact.qualifier(qualifier):
            if fits(value):
                facts.append(fact)
                used.append((qualifier, value))
                break
    return _values(facts, used)


def verify(kb: KnowledgeBase, found: Answer, target: Value, op: str = "=") -> Answer:
    """VerifyStr, VerifyNum, VerifyYear, VerifyDate: yes, no, or not sure if only some of the values fit."""
    fitting = sum(map(matcher(target, op), found.values))
    return Answer("no" if fitting == 0 else "yes" if fitting == len(found.values) else "not sure")


def query_relation(kb: KnowledgeBase, left: Nodes, right: Nodes) -> Answer:
    facts = _between(kb, left, right)
    return Answer([fact.predicate for fact in facts], facts=facts)


def query_attribute_qualifier(kb: KnowledgeBase, nodes: Nodes, key: str, text: str, qualifier: str) -> Answer:
    fits = matcher(target_of_key(kb, key, text), "=")
    facts = [fact for fact in _facts(kb, nodes.ids, key) if fits(fact.value)]  # type: ignore[arg-type]
    return _qualifiers(facts, qualifier)


def query_relation_qualifier(kb: KnowledgeBase, left: Nodes, right: Nodes, predicate: str, qualifier: str) -> Answer:
    return _qualifiers([fact for fact in _between(kb, left, right) if fact.predicate == predicate], qualifier)


def _facts(kb: KnowledgeBase, ids: Iterable[str], key: str) -> list[Statement]:
    rows = kb.attribute_rows(key)
    return [fact for i in ids if i in rows for fact in rows[i]]


def _between(kb: KnowledgeBase, left: Nodes, right: Nodes) -> list[Statement]:
    return [fact for a in left.ids for b in right.ids for fact in kb.between(a, b)]


def _common_unit(facts: list[Statement], key: str) -> list[Statement]:
    """The quantities in the most frequent unit; among equally frequent units, in the one that comes first."""
    quantities = [fact for fact in facts if fact.value is not None and fact.value.type == "quantity"]
    if not quantities:
        raise DataError(f"none of the entities has a quantity under {key!r} to compare")
    units = list(map(_unit, quantities))
    if units.count(units[0]) == len(units):
        return quantities
    unit = Counter(units).most_common(1)[0][0]
    return [fact for fact in quantities if _unit(fact) == unit]


def _unit(fact: Statement) -> str:
    return fact.value.unit if fact.value is not None else ""


def _number(fact: Statement) -> float:
    return fact.value.value  # type: ignore[union-attr, return-value]


def target_of_key(kb: KnowledgeBase, key: str, text: str) -> Value:
    """Parse a value that is to be compared with a key's values, as a value of their type.

    Raises:
        DataError: the key has no value, or the text does not have its type.
    """
    kind = kb.key_type(key)
    if kind is None:
        raise DataError(f"key {key!r} has no value in the knowledge base")
    return parse_target(text, kind)


def _values(facts: list[Statement], used: list[Qualifier] | None = None) -> Answer:
    values = [fact.value for fact in facts if fact.value is not None]
    return Answer([str(value) for value in values], values, facts, used)


def _qualifiers(facts: list[Statement], key: str) -> Answer:
    found = [(fact, (key, value)) for fact in facts for value in fact.qualifier(key)]
    values = [value for _, (_, value) in found]
    return Answer([str(value) for value in values], values, [fact for fact, _ in found], [pair for _, pair in found])
