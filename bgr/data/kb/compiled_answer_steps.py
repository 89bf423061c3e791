"""Compiled KoPL functions that give values or an answer; see `compiled_node_steps`.

Results are texts as KoPL prints them, except of the functions whose values a Verify* reads.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from itertools import chain as chained
from itertools import compress, repeat
from operator import eq
from typing import Any

from bgr.data.kb import steps
from bgr.data.kb.comparison import matcher
from bgr.data.kb.compiled_node_steps import Chain, Compare, Fits, Ids, evaluate, nodes
from bgr.data.kb.knowledge_base import KnowledgeBase
from bgr.data.kb.schema import Statement, Value
from bgr.data.kb.steps import target_of_key

Targets = Mapping[str, Fits]
"""Tests for equality with one text, by each type that the text can be parsed as."""


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


def verdict(fitting: int, of: int) -> str:
    """The answer of Verify* if `fitting` of `of` values fit."""
    return "no" if fitting == 0 else "yes" if fitting == of else "not sure"


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
