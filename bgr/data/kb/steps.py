"""KoPL functions: pure functions of the knowledge base, the results of earlier steps and the inputs.

The first ones give entities, the others values or an answer. Where KoPL iterates over a Python set (FilterConcept,
Filter*, Relate, And, Or) its order is arbitrary; ours is the order of first appearance in the input, the left branch
before the right. Repetitions are the same as KoPL's.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from bgr.data.kb.comparison import COMPARE, matcher, parse_target
from bgr.data.kb.indices import link_name, target_column
from bgr.data.kb.knowledge_base import KnowledgeBase
from bgr.data.kb.schema import Answer, Nodes, Qualifier, Statement, Value
from bgr.errors import DataError

SCAN_LIMIT = 128
"""Up to this number, entities are tested one by one; more are looked up in the key's sorted column, if few fit."""


def find_all(kb: KnowledgeBase) -> Nodes:
    return Nodes(kb.all_ids, ordered=True)


def find(kb: KnowledgeBase, name: str) -> Nodes:
    return Nodes(kb.ids_of_name.get(name, ()), ordered=True)


def filter_concept(kb: KnowledgeBase, nodes: Nodes, concept: str) -> Nodes:
    members = kb.members_of_name(concept)
    if nodes.ids is kb.all_ids:
        return Nodes(members, ordered=True)
    return Nodes({i: None for i in nodes.unique if i in members}, ordered=nodes.ordered)


def filter_attribute(kb: KnowledgeBase, nodes: Nodes, key: str, target: Value, op: str = "=") -> Nodes:
    """Filter by an attribute: FilterStr, FilterNum, FilterYear, FilterDate."""
    if len(nodes.ids) > SCAN_LIMIT and (found := look_up(kb, nodes, key, target, op)) is not None:
        return Nodes([fact.head for fact in found], found)
    rows, column = kb.attribute_rows(key), target_column(key, target, op)
    compare, goal = COMPARE[op], target.value
    if (bare := kb.single_values.get(column)) is not None:
        ids = [i for i in nodes.unique if i in bare and compare(bare[i], goal)]
        return Nodes(ids, [rows[i][0] for i in ids], ordered=nodes.ordered)
    if (pairs := kb.multi_values.get(column)) is not None:
        facts = [fact for i in nodes.unique if i in pairs for value, fact in pairs[i] if compare(value, goal)]
    else:
        fits = matcher(target, op)
        facts = [fact for i in nodes.unique if i in rows for fact in rows[i] if fits(fact.value)]  # type: ignore[arg-type]
    return Nodes([fact.head for fact in facts], facts)


def look_up(
    kb: KnowledgeBase, nodes: Nodes, key: str, target: Value, op: str = "=", share: int = 4
) -> list[Statement] | None:
    """The statements that a filter keeps, by binary search; ``None`` if it keeps more than one node in `share`."""
    facts = kb.column(key).select(target, op, limit=len(nodes.ids) // share)
    if facts is None:
        return None
    known = nodes.unique
    if known is not kb.all_ids:
        facts = [fact for fact in facts if fact.head in known]
    if not nodes.ordered:
        place = {i: n for n, i in enumerate(known)}
        facts.sort(key=lambda fact: place[fact.head])
    return facts


def filter_qualifier(kb: KnowledgeBase, nodes: Nodes, key: str, target: Value, op: str = "=") -> Nodes:
    """Filter by a qualifier: QFilterStr, QFilterNum, QFilterYear, QFilterDate."""
    fits = matcher(target, op)
    ids, facts, used = [], [], []
    for node, fact in zip(nodes.ids, nodes.facts or (), strict=True):
        for value in fact.qualifier(key):
            if fits(value):
                ids.append(node)
                facts.append(fact)
                used.append((key, value))
                break
    return Nodes(ids, facts, used)


def relate(kb: KnowledgeBase, nodes: Nodes, predicate: str, direction: str) -> Nodes:
    ends, rows = kb.neighbors.get(link_name(predicate, direction), {}), kb.relation_rows(predicate, direction)
    sources = nodes.unique
    if nodes.ordered and len(rows) < len(sources):
        found = [node for node in rows if node in sources]
    else:
        found = [node for node in sources if node in rows]
    if len(found) == 1:
        return Nodes(ends[found[0]], rows[found[0]])
    return Nodes([end for node in found for end in ends[node]], [fact for node in found for fact in rows[node]])


def intersect(kb: KnowledgeBase, left: Nodes, right: Nodes) -> Nodes:
    a, b = left.unique, right.unique
    if len(b) >= len(a):
        return Nodes({i: None for i in a if i in b}, ordered=left.ordered)
    kept = [i for i in b if i in a]
    if len(kept) > 1 and left.ordered:
        kept.sort(key=kb.all_ids.__getitem__)
    elif len(kept) > 1:
        both = set(kept)
        kept = [i for i in a if i in both]
    return Nodes(dict.fromkeys(kept), ordered=left.ordered)


def unite(kb: KnowledgeBase, left: Nodes, right: Nodes) -> Nodes:
    return Nodes({**left.unique, **right.unique})


# -- values and answers -----------------------------------------------------------------------------------------------


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
    """VerifyStr, VerifyNum, VerifyYear, VerifyDate."""
    return Answer(verdict(sum(map(matcher(target, op), found.values)), len(found.values)))


def verdict(fitting: int, of: int) -> str:
    """The answer of Verify* if `fitting` of `of` values fit."""
    return "no" if fitting == 0 else "yes" if fitting == of else "not sure"


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
    units = [fact.value.unit for fact in quantities if fact.value is not None]
    if units.count(units[0]) == len(units):
        return quantities
    unit = Counter(units).most_common(1)[0][0]
    return [fact for fact, its in zip(quantities, units, strict=True) if its == unit]


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
