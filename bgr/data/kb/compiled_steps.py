"""Compiled KoPL functions: entities as node ids without the statements behind them, answers as KoPL prints them.

Each gives the result of its namesake in `steps`, with which the tests compare it, and takes the input that
`compile_program` prepared. Most of a program's time is spent on reading memory that is not in the processor's cache, so
each step touches as few objects as it can; a single node, the most frequent result, needs no loop. Before a QFilter* a
step gives the statements too, as a pair ``(ids, facts)``, and before a Verify* the typed values.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from itertools import chain as chained
from itertools import compress, repeat
from operator import eq
from typing import Any

from bgr.data.kb import steps
from bgr.data.kb.comparison import Compare, matcher
from bgr.data.kb.indices import OrderedIds
from bgr.data.kb.knowledge_base import KnowledgeBase
from bgr.data.kb.schema import Nodes, Statement, Value
from bgr.data.kb.steps import target_of_key, verdict

Ids = Collection[str]
"""Node ids: a tuple or list (repeated as in KoPL), the members of a concept in the order of the knowledge base, or the
neighbors by a relation with their positions."""

CompiledCall = tuple[Callable[[KnowledgeBase, Any, Any], Any], Any]
"""A function and its prepared input; for a function of two results, this includes the chain of the second one."""

Chain = tuple[CompiledCall, ...]

Fits = Callable[[Value], bool]
Targets = Mapping[str, Fits]
"""Tests for equality with one text, by each type that the text can be parsed as."""
Filter = tuple[str, Compare, Any, tuple[Any, ...]]
"""Name of a column, comparison, plain value to compare with, and the filter's inputs."""
WithFacts = tuple[Sequence[str], Sequence[Statement]]
NONE: tuple[str, ...] = ()
LOOK_UP_SHARE = 16
"""Of many nodes, a filter looks up those that fit if they are fewer than one in this number, else it tests all."""


def evaluate(kb: KnowledgeBase, chain: Chain) -> Any:
    """The result of the last call of a chain; DataError if a step cannot be executed."""
    found = None
    for run, given in chain:
        found = run(kb, found, given)
    return found


def find_all(kb: KnowledgeBase, _: None, given: tuple[()]) -> Ids:
    return kb.all_ids


def find(kb: KnowledgeBase, _: None, name: str) -> Ids:
    return kb.ids_of_name.get(name, NONE)


def find_relate(kb: KnowledgeBase, _: None, given: tuple[str, str]) -> Ids:
    link, name = given
    links = kb.neighbors_of_name.get(link)
    return links.get(name, NONE) if links is not None else NONE


def members(kb: KnowledgeBase, _: None, concept: str) -> Ids:
    """FindAll and FilterConcept in one call."""
    return kb.members_of_name(concept)


def filter_concept(kb: KnowledgeBase, ids: Ids, concept: str) -> Ids:
    known = kb.members_of_name(concept)
    return distinct([i for i in ids if i in known], ids)


def filter_attribute(kb: KnowledgeBase, ids: Ids, given: Filter) -> Ids:
    column, compare, goal, wanted = given
    values = kb.single_values.get(column)
    if len(ids) == 1 and values is not None:
        (node,) = ids
        return ids if node in values and compare(values[node], goal) else NONE
    if len(ids) > steps.SCAN_LIMIT:
        key, target, op = (*wanted, "=")[:3]
        facts = steps.look_up(kb, nodes(ids), key, target, op, LOOK_UP_SHARE)
        if facts is not None:
            return [fact.head for fact in facts]
        if values is not None:
            return _filter_many(kb, ids, values, given)
    if values is not None:
        return distinct([i for i in ids if i in values and compare(values[i], goal)], ids)
    pairs = kb.multi_values.get(column)
    if pairs is not None:
        found = [i for i in distinct(ids, ids) if i in pairs]
        return [i for i in found for value, _ in pairs[i] if compare(value, goal)]
    return steps.filter_attribute(kb, nodes(ids), *wanted).ids


def _filter_many(kb: KnowledgeBase, ids: Ids, values: Mapping[str, Any], given: Filter) -> Ids:
    """Filter by loops that run in C (`compress`, `map`, `filter`)."""
    _, compare, goal, _ = given
    if type(ids) is OrderedIds and len(values) <= 2 * len(ids):  # a column is in the order of the base too
        fitting = compress(values, map(compare, values.values(), repeat(goal)))
        return list(fitting) if ids is kb.all_ids else list(filter(ids.__contains__, fitting))
    found = list(filter(values.__contains__, ids if isinstance(ids, dict) else dict.fromkeys(ids)))
    return list(compress(found, map(compare, map(values.__getitem__, found), repeat(goal))))


def filter_with_facts(kb: KnowledgeBase, ids: Ids, given: Filter) -> WithFacts:
    column, compare, goal, wanted = given
    if column in kb.single_values:
        kept, rows = filter_attribute(kb, ids, given), kb.attribute_rows(wanted[0])
        return kept, [rows[i][0] for i in kept]  # type: ignore[return-value]
    pairs = kb.multi_values.get(column)
    if pairs is not None and len(ids) <= steps.SCAN_LIMIT:
        facts = [fact for i in distinct(ids, ids) if i in pairs for value, fact in pairs[i] if compare(value, goal)]
        return [fact.head for fact in facts], facts
    found = steps.filter_attribute(kb, nodes(ids), *wanted)
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
    links = kb.neighbors.get(link)
    if links is None:
        return NONE
    if len(ids) == 1:
        (node,) = ids
        return links.get(node, NONE)
    if type(ids) is OrderedIds and len(links) < len(ids):
        return [end for node in links if node in ids for end in links[node]]
    return [end for node in dict.fromkeys(ids) if node in links for end in links[node]]


def relate_with_facts(kb: KnowledgeBase, ids: Ids, given: tuple[str, str]) -> WithFacts:
    found = steps.relate(kb, nodes(ids), *given)
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
            kept.sort(key=(kb.all_ids if type(left) is OrderedIds else left).__getitem__)
        else:
            both = _lookup(kept)
            kept = distinct([i for i in left if i in both], left)
    return kept


def unite(kb: KnowledgeBase, left: Ids, given: tuple[Chain, tuple[()]]) -> Ids:
    return list(dict.fromkeys((*left, *evaluate(kb, given[0]))))


# -- values and answers -----------------------------------------------------------------------------------------------


def what(kb: KnowledgeBase, ids: Ids, given: tuple[()]) -> list[str]:
    names = kb.names_by_id
    return [names[i] for i in ids]


def count(kb: KnowledgeBase, ids: Ids, given: tuple[()]) -> str:
    return str(len(ids))


def select_between(kb: KnowledgeBase, left: Ids, given: tuple[Chain, tuple[str, str]]) -> str | list[str]:
    right: Ids = evaluate(kb, given[0])
    key, order = given[1]
    numbers = kb.numbers.get(key)
    if numbers is not None:
        found = [i for i in chained(left, right) if i in numbers]
        if found:
            at = numbers.__getitem__
            return kb.names_by_id[min(found, key=at) if order == "less" else max(reversed(found), key=at)]
    return steps.select_between(kb, nodes(left), nodes(right), key, order).text


def select_among(kb: KnowledgeBase, ids: Ids, given: tuple[str, str]) -> str | list[str]:
    key, order = given
    numbers = kb.numbers.get(key)
    if numbers is not None:
        found = [i for i in ids if i in numbers]
        if found:
            values = [numbers[i] for i in found]
            best = min(values) if order == "smallest" else max(values)
            names = kb.names_by_id
            return list(dict.fromkeys([names[i] for i in compress(found, map(eq, values, repeat(best)))]))
    return steps.select_among(kb, nodes(ids), key, order).text


def query_attribute(kb: KnowledgeBase, ids: Ids, key: str) -> list[str]:
    alone = kb.printed.get(key)
    if alone is not None:
        if len(ids) == 1:
            (node,) = ids
            return [alone[node]] if node in alone else []
        return [alone[i] for i in ids if i in alone]
    texts = kb.printed_lists.get(key)
    return [text for i in ids if i in texts for text in texts[i]] if texts is not None else []


def query_attribute_under_condition(kb: KnowledgeBase, ids: Ids, given: tuple[str, str, Targets, str]) -> list[str]:
    return [str(value) for value in values_under_condition(kb, ids, given)]


def values_under_condition(kb: KnowledgeBase, ids: Ids, given: tuple[str, str, Targets, str]) -> list[Value]:
    key, qualifier, targets, text = given
    fits, rows = _fits(kb, qualifier, targets, text), kb.attribute_rows(key)
    found = []
    for i in ids:
        if i in rows:
            for fact in rows[i]:
                for value in fact.qualifier(qualifier):
                    if fits(value):
                        found.append(fact.value)
                        break
    return found  # type: ignore[return-value]


def verify(kb: KnowledgeBase, values: Sequence[Value], given: tuple[Value, str]) -> str:
    return verdict(sum(map(matcher(*given), values)), len(values))


def verify_attribute(kb: KnowledgeBase, ids: Ids, given: tuple[str, str, Compare, Any, Value, str]) -> str:
    """QueryAttr and Verify* in one call."""
    key, column, compare, goal, target, op = given
    values = kb.single_values.get(column)
    if values is not None:
        if len(ids) == 1:
            (node,) = ids
            return "yes" if node in values and compare(values[node], goal) else "no"
        if len(values) == len(kb.attribute_rows(key)):  # all values are of one type
            found = [values[i] for i in ids if i in values]
            return verdict(sum(map(compare, found, repeat(goal))), len(found))
    rows = kb.attribute_rows(key)
    return verify(kb, [fact.value for i in ids if i in rows for fact in rows[i]], (target, op))  # type: ignore[misc]


def query_relation(kb: KnowledgeBase, left: Ids, given: tuple[Chain, tuple[()]]) -> list[str]:
    return [fact.predicate for fact in _between(kb, left, evaluate(kb, given[0]))]


def query_attribute_qualifier(kb: KnowledgeBase, ids: Ids, given: tuple[str, str, Targets, str]) -> list[str]:
    key, qualifier, targets, text = given
    fits, rows = _fits(kb, key, targets, text), kb.attribute_rows(key)
    facts = [fact for i in ids if i in rows for fact in rows[i] if fits(fact.value)]  # type: ignore[arg-type]
    return [str(value) for fact in facts for value in fact.qualifier(qualifier)]


def query_relation_qualifier(kb: KnowledgeBase, left: Ids, given: tuple[Chain, tuple[str, str]]) -> list[str]:
    right, (predicate, key) = evaluate(kb, given[0]), given[1]
    facts = [fact for fact in _between(kb, left, right) if fact.predicate == predicate]
    return [str(value) for fact in facts for value in fact.qualifier(key)]


def _between(kb: KnowledgeBase, left: Ids, right: Ids) -> Collection[Statement]:
    """The relations from each of `left` to each of `right`."""
    by_tail = kb.by_tail
    if len(right) == 1:
        (node,) = right
        heads = by_tail.get(node)
        if heads is None:
            return ()
        if len(left) == 1:
            (head,) = left
            return heads.get(head, ())
        return [fact for head in left if head in heads for fact in heads[head]]
    ends = [by_tail[node] for node in right if node in by_tail]
    return [fact for head in left for heads in ends if head in heads for fact in heads[head]]


def _fits(kb: KnowledgeBase, key: str, targets: Targets, text: str) -> Callable[[Value], bool]:
    fits = targets.get(kb.key_type(key) or "")
    return fits if fits is not None else matcher(target_of_key(kb, key, text), "=")


# -- helpers ----------------------------------------------------------------------------------------------------------


def nodes(ids: Ids) -> Nodes:
    """The ids as input of the steps with facts."""
    return Nodes(ids, ordered=type(ids) is OrderedIds)


def distinct(kept: Ids, source: Ids) -> Any:
    """The ids kept of `source`, each once."""
    return kept if len(kept) < 2 or isinstance(source, dict) else list(dict.fromkeys(kept))


def _lookup(ids: Ids) -> Ids:
    return ids if len(ids) < 4 or isinstance(ids, dict) else set(ids)
