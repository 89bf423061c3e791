"""The KoPL functions that give entities, for the answer alone: on bare node ids, without the statements behind them.

Each does what its namesake in `node_steps` does, which is its slow twin in the tests, and takes the input that
`lean_plan` prepared. Most of a program's time goes into reading memory that no other program has read of late, so each
step touches as few objects as it can; a single node, the commonest result, goes through no loop. Where a QFilter* comes
next a step gives the statements too, as a pair ``(ids, facts)``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import compress, repeat
from typing import Any

from bgr.data.kb import node_steps
from bgr.data.kb.compiled.compiled_program import Chain, Ids, evaluate
from bgr.data.kb.knowledge_base import KnowledgeBase
from bgr.data.kb.results import BaseOrder, Nodes
from bgr.data.kb.schema import Statement, Value

Compare = Callable[[Any, Any], bool]
Fits = Callable[[Value], bool]
Filter = tuple[str, Compare, Any, tuple[Any, ...]]
"""Name of a column, comparison, bare value to compare with, and the filter's inputs."""
WithFacts = tuple[Sequence[str], Sequence[Statement]]
NONE: tuple[str, ...] = ()
FEW = 16
"""Of many nodes a filter looks up those that fit if they are fewer than one in so many, else it goes through all."""


def find_all(kb: KnowledgeBase, _: None, given: tuple[()]) -> Ids:
    return kb.everything


def find(kb: KnowledgeBase, _: None, name: str) -> Ids:
    return kb.found.get(name, NONE)


def find_relate(kb: KnowledgeBase, _: None, given: tuple[str, str]) -> Ids:
    link, name = given
    links = kb.ends_of_names.get(link)
    return links.get(name, NONE) if links is not None else NONE


def members(kb: KnowledgeBase, _: None, concept: str) -> Ids:
    """FindAll and FilterConcept in one."""
    return kb.members_of_name(concept)


def filter_concept(kb: KnowledgeBase, ids: Ids, concept: str) -> Ids:
    known = kb.members_of_name(concept)
    return distinct([i for i in ids if i in known], ids)


def filter_attribute(kb: KnowledgeBase, ids: Ids, given: Filter) -> Ids:
    column, compare, goal, wanted = given
    values = kb.bare.get(column)
    if len(ids) == 1 and values is not None:
        (node,) = ids
        return ids if node in values and compare(values[node], goal) else NONE
    if len(ids) > node_steps.SCAN_LIMIT:
        key, target, op = (*wanted, "=")[:3]
        facts = node_steps.look_up(kb, nodes(ids), key, target, op, FEW)
        if facts is not None:
            return [fact.head for fact in facts]
        if values is not None:
            return _filter_many(kb, ids, values, given)
    if values is not None:
        return distinct([i for i in ids if i in values and compare(values[i], goal)], ids)
    pairs = kb.several.get(column)
    if pairs is not None:
        found = [i for i in distinct(ids, ids) if i in pairs]
        return [i for i in found for value, _ in pairs[i] if compare(value, goal)]
    return node_steps.filter_attribute(kb, nodes(ids), *wanted).ids


def _filter_many(kb: KnowledgeBase, ids: Ids, values: Mapping[str, Any], given: Filter) -> Ids:
    """By loops that do not leave the interpreter's own code."""
    _, compare, goal, _ = given
    if type(ids) is BaseOrder and len(values) <= 2 * len(ids):  # a column is in the order of the base too
        fitting = compress(values, map(compare, values.values(), repeat(goal)))
        return list(fitting) if ids is kb.everything else list(filter(ids.__contains__, fitting))
    found = list(filter(values.__contains__, ids if isinstance(ids, dict) else dict.fromkeys(ids)))
    return list(compress(found, map(compare, map(values.__getitem__, found), repeat(goal))))


def filter_with_facts(kb: KnowledgeBase, ids: Ids, given: Filter) -> WithFacts:
    column, compare, goal, wanted = given
    if column in kb.bare:
        kept, rows = filter_attribute(kb, ids, given), kb.attribute_rows(wanted[0])
        return kept, [rows[i][0] for i in kept]  # type: ignore[return-value]
    pairs = kb.several.get(column)
    if pairs is not None and len(ids) <= node_steps.SCAN_LIMIT:
        facts = [fact for i in distinct(ids, ids) if i in pairs for value, fact in pairs[i] if compare(value, goal)]
        return [fact.head for fact in facts], facts
    found = node_steps.filter_attribute(kb, nodes(ids), *wanted)
    return found.ids, found.facts or ()  # type: ignore[return-value]


def filter_qualifier(kb: KnowledgeBase, found: WithFacts, given: tuple[str, Fits]) -> Ids:
    key, fits = given
    kept = []
    for node, fact in zip(*found, strict=True):
        for value in fact.qualifier(key):
            if fits(value):
                kept.append(node)
                break
    return kept


def filter_qualifier_with_facts(kb: KnowledgeBase, found: WithFacts, given: tuple[str, Fits]) -> WithFacts:
    key, fits = given
    pairs = [(node, fact) for node, fact in zip(*found, strict=True) if any(map(fits, fact.qualifier(key)))]
    return [node for node, _ in pairs], [fact for _, fact in pairs]


def relate(kb: KnowledgeBase, ids: Ids, link: str) -> Ids:
    links = kb.ends.get(link)
    if links is None:
        return NONE
    if len(ids) == 1:
        (node,) = ids
        return links.get(node, NONE)
    if type(ids) is BaseOrder and len(links) < len(ids):
        return [end for node in links if node in ids for end in links[node]]
    return [end for node in dict.fromkeys(ids) if node in links for end in links[node]]


def relate_with_facts(kb: KnowledgeBase, ids: Ids, given: tuple[str, str]) -> WithFacts:
    found = node_steps.relate(kb, nodes(ids), *given)
    return found.ids, found.facts or ()  # type: ignore[return-value]


def intersect(kb: KnowledgeBase, left: Ids, given: tuple[Chain, tuple[()]]) -> Ids:
    right: Ids = evaluate(kb, given[0])
    if len(left) <= len(right):
        if len(left) > 1:
            right = _lookup(right)
        return distinct([i for i in left if i in right], left)
    if len(right) > 1:
        left_set = _lookup(left)
        kept = distinct([i for i in right if i in left_set], right)
    else:
        kept = [i for i in right if i in left]
    if len(kept) > 1:
        if isinstance(left, dict):
            kept.sort(key=(kb.everything if type(left) is BaseOrder else left).__getitem__)
        else:
            both = _lookup(kept)
            kept = distinct([i for i in left if i in both], left)
    return kept


def unite(kb: KnowledgeBase, left: Ids, given: tuple[Chain, tuple[()]]) -> Ids:
    return list(dict.fromkeys((*left, *evaluate(kb, given[0]))))


def nodes(ids: Ids) -> Nodes:
    """For the steps with facts."""
    return Nodes(ids, ordered=type(ids) is BaseOrder)


def distinct(kept: Ids, source: Ids) -> Any:
    """What was kept of `source`, each once."""
    return kept if len(kept) < 2 or isinstance(source, dict) else list(dict.fromkeys(kept))


def _lookup(ids: Ids) -> Ids:
    return ids if len(ids) < 4 or isinstance(ids, dict) else set(ids)
