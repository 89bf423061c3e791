"""The KoPL functions that give entities. Each is a pure function of the base, the earlier results and the inputs.

Where KoPL goes through a Python set (FilterConcept, Filter*, Relate, And, Or) its order is arbitrary; ours is the order
of first appearance in the input, the left branch before the right. Repetitions are KoPL's.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import chain

from bgr.kb.comparison import matches, parse_target
from bgr.kb.knowledge_base import KnowledgeBase
from bgr.kb.loading import FORWARD
from bgr.kb.results import Nodes
from bgr.kb.schema import Value
from bgr.kb.statement import Statement

SCAN_LIMIT = 64
"""Up to so many entities are read one by one; more are looked up in the key's sorted column."""


def find_all(kb: KnowledgeBase) -> Nodes:
    return Nodes(kb.everything, ordered=True)


def find(kb: KnowledgeBase, name: str) -> Nodes:
    return Nodes(kb.ids(name), ordered=True)


def filter_concept(kb: KnowledgeBase, nodes: Nodes, concept: str) -> Nodes:
    groups = [kb.members(i) for i in kb.ids(concept) if kb.members(i)]
    if len(groups) == 1 and nodes.ids is kb.everything:
        return Nodes(groups[0], ordered=True)
    members = groups[0] if len(groups) == 1 else dict.fromkeys(chain.from_iterable(groups))
    return Nodes(dict.fromkeys(i for i in nodes.unique if i in members), ordered=nodes.ordered)


def filter_attribute(kind: str) -> Callable[..., Nodes]:
    """FilterStr, FilterNum, FilterYear, FilterDate."""

    def run(kb: KnowledgeBase, nodes: Nodes, key: str, text: str, op: str = "=") -> Nodes:
        target = parse_target(text, kind)
        scan = len(nodes.unique) <= SCAN_LIMIT
        facts = _scan(kb, nodes, key, target, op) if scan else _look_up(kb, nodes, key, target, op)
        return Nodes([fact.head for fact in facts], facts)

    return run


def _scan(kb: KnowledgeBase, nodes: Nodes, key: str, target: Value, op: str) -> list[Statement]:
    rows = kb.attribute_rows(key)
    found = (fact for i in nodes.unique for fact in rows.get(i, ()))
    return [fact for fact in found if fact.value is not None and matches(fact.value, target, op)]


def _look_up(kb: KnowledgeBase, nodes: Nodes, key: str, target: Value, op: str) -> list[Statement]:
    facts = kb.column(key).select(target, op)
    if nodes.ids is not kb.everything:
        facts = [fact for fact in facts if fact.head in nodes.unique]
    if not nodes.ordered:
        place = {i: n for n, i in enumerate(nodes.unique)}
        facts.sort(key=lambda fact: place[fact.head])
    return facts


def filter_qualifier(kind: str) -> Callable[..., Nodes]:
    """QFilterStr, QFilterNum, QFilterYear, QFilterDate."""

    def run(kb: KnowledgeBase, nodes: Nodes, key: str, text: str, op: str = "=") -> Nodes:
        target = parse_target(text, kind)
        ids, facts, used = [], [], []
        for node, fact in zip(nodes.ids, nodes.facts or (), strict=True):
            for value in fact.qualifier(key):
                if matches(value, target, op):
                    ids.append(node)
                    facts.append(fact)
                    used.append((key, value))
                    break
        return Nodes(ids, facts, used)

    return run


def relate(kb: KnowledgeBase, nodes: Nodes, predicate: str, direction: str) -> Nodes:
    rows = kb.relation_rows(predicate, direction)
    if nodes.ordered and len(rows) < len(nodes.unique):
        facts = [fact for i, found in rows.items() if i in nodes.unique for fact in found]
    else:
        facts = [fact for i in nodes.unique for fact in rows.get(i, ())]
    return Nodes([fact.tail or "" if direction == FORWARD else fact.head for fact in facts], facts)


def intersect(kb: KnowledgeBase, left: Nodes, right: Nodes) -> Nodes:
    if left.ordered and len(right.unique) < len(left.unique):
        kept = sorted((i for i in right.unique if i in left.unique), key=kb.everything.__getitem__)
        return Nodes(dict.fromkeys(kept), ordered=True)
    return Nodes(dict.fromkeys(i for i in left.unique if i in right.unique), ordered=left.ordered)


def unite(kb: KnowledgeBase, left: Nodes, right: Nodes) -> Nodes:
    return Nodes(dict.fromkeys(chain(left.unique, right.unique)))
