"""KoPL functions that give entities: pure functions of the knowledge base, the earlier results and the inputs.

Where KoPL iterates over a Python set (FilterConcept, Filter*, Relate, And, Or) its order is arbitrary; ours is the
order of first appearance in the input, the left branch before the right. Repetitions are the same as KoPL's.
"""

from __future__ import annotations

from bgr.data.kb.comparison import COMPARE, matcher
from bgr.data.kb.indices import link_name
from bgr.data.kb.knowledge_base import KnowledgeBase
from bgr.data.kb.results import Nodes
from bgr.data.kb.schema import Statement, Value

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
    rows, column = kb.attribute_rows(key), kb.column(key)
    compare, goal = COMPARE[op], target.value
    if (bare := column.single_values(target, op)) is not None:
        ids = [i for i in nodes.unique if i in bare and compare(bare[i], goal)]
        return Nodes(ids, [rows[i][0] for i in ids], ordered=nodes.ordered)
    if (pairs := column.multi_values(target, op)) is not None:
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
