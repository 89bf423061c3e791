"""The KoPL functions for the answer alone: on bare node ids, without the statements behind them.

Each does what its namesake in `node_steps` or `answer_steps` does, which is its slow twin in the tests, and takes the
input that `lean_plan` prepared. Most of a program's time goes into reading memory that no other program has read of
late, so each step touches as few objects as it can. Node ids are a tuple or list (repetitions as in KoPL), the members
of a concept in the order of the base, or the ends of a relation with their places.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Any

from bgr.kb import answer_steps, node_steps
from bgr.kb.answer_steps import target_of_key
from bgr.kb.comparison import matcher
from bgr.kb.knowledge_base import KnowledgeBase
from bgr.kb.lean_plan import FOR_VALUES, WITH_FACTS
from bgr.kb.results import Answer, BaseOrder, Nodes
from bgr.kb.schema import Value

Ids = Collection[str]
Filter = tuple[str, Callable[[Any, Any], bool], Any, tuple[Any, ...]]
"""Name of a column, comparison, bare value to compare with, and the filter's inputs."""


def find_all(kb: KnowledgeBase, given: tuple[()]) -> Ids:
    return kb.everything


def find(kb: KnowledgeBase, name: str) -> Ids:
    return kb.found.get(name, ())


def find_relate(kb: KnowledgeBase, given: tuple[str, str]) -> Ids:
    link, name = given
    links = kb.ends_of_names.get(link)
    return links.get(name, ()) if links is not None else ()


def relate(kb: KnowledgeBase, ids: Ids, link: str) -> Ids:
    links = kb.ends.get(link)
    if links is None:
        return ()
    if len(ids) == 1:
        (node,) = ids
        return links.get(node, ())
    if type(ids) is BaseOrder and len(links) < len(ids):
        return [end for node in links if node in ids for end in links[node]]
    return [end for node in dict.fromkeys(ids) if node in links for end in links[node]]


def filter_concept(kb: KnowledgeBase, ids: Ids, concept: str) -> Ids:
    members = kb.members_of_name(concept)
    return members if ids is kb.everything else _distinct([i for i in ids if i in members], ids)


def filter_attribute(kb: KnowledgeBase, ids: Ids, given: Filter) -> Ids:
    column, compare, goal, wanted = given
    if len(ids) <= node_steps.SCAN_LIMIT:
        values = kb.bare.get(column)
        if values is not None:
            return _distinct([i for i in ids if i in values and compare(values[i], goal)], ids)
        pairs = kb.several.get(column)
        if pairs is not None:
            found = [i for i in _distinct(ids, ids) if i in pairs]
            return [i for i in found for value, _ in pairs[i] if compare(value, goal)]
    return node_steps.filter_attribute(kb, _nodes(ids), *wanted).ids


def filter_with_facts(kb: KnowledgeBase, ids: Ids, given: Filter) -> Nodes:
    column, compare, goal, wanted = given
    pairs = kb.several.get(column)
    if pairs is None or len(ids) > node_steps.SCAN_LIMIT:
        return node_steps.filter_attribute(kb, _nodes(ids), *wanted)
    facts = [fact for i in _distinct(ids, ids) if i in pairs for value, fact in pairs[i] if compare(value, goal)]
    return Nodes([fact.head for fact in facts], facts)


def filter_qualifier(kb: KnowledgeBase, nodes: Nodes, given: tuple[Any, ...]) -> Ids:
    key, target, op = (*given, "=")[:3]
    fits = matcher(target, op)
    pairs = zip(nodes.ids, nodes.facts or (), strict=True)
    return [node for node, fact in pairs if any(map(fits, fact.qualifier(key)))]


def intersect(kb: KnowledgeBase, left: Ids, right: Ids, given: tuple[()]) -> Ids:
    if len(left) <= len(right):
        if len(left) > 1:
            right = _lookup(right)
        return _distinct([i for i in left if i in right], left)
    if len(right) > 1:
        left_set = _lookup(left)
        kept = _distinct([i for i in right if i in left_set], right)
    else:
        kept = [i for i in right if i in left]
    if len(kept) > 1:
        if isinstance(left, dict):
            kept.sort(key=(kb.everything if type(left) is BaseOrder else left).__getitem__)
        else:
            kept = _distinct([i for i in left if i in kept], left)
    return kept


def unite(kb: KnowledgeBase, left: Ids, right: Ids, given: tuple[()]) -> Ids:
    return list(dict.fromkeys((*left, *right)))


def what(kb: KnowledgeBase, ids: Ids, given: tuple[()]) -> list[str]:
    names = kb.names_by_id
    return [names[i] for i in ids]


def count(kb: KnowledgeBase, ids: Ids, given: tuple[()]) -> str:
    return str(len(ids))


def select_between(kb: KnowledgeBase, left: Ids, right: Ids, given: tuple[str, str]) -> str | list[str]:
    key, order = given
    numbers = kb.numbers.get(key)
    if numbers is not None:
        found = [i for i in (*left, *right) if i in numbers]
        if found:
            at = numbers.__getitem__
            return kb.names_by_id[min(found, key=at) if order == "less" else max(reversed(found), key=at)]
    return answer_steps.select_between(kb, _nodes(left), _nodes(right), key, order).text


def select_among(kb: KnowledgeBase, ids: Ids, given: tuple[str, str]) -> str | list[str]:
    key, order = given
    numbers = kb.numbers.get(key)
    if numbers is not None:
        found = [i for i in ids if i in numbers]
        if found:
            values = [numbers[i] for i in found]
            best = min(values) if order == "smallest" else max(values)
            names = kb.names_by_id
            return list(dict.fromkeys([names[i] for i in found if numbers[i] == best]))
    return answer_steps.select_among(kb, _nodes(ids), key, order).text


def query_attribute(kb: KnowledgeBase, ids: Ids, key: str) -> list[str]:
    texts = kb.texts.get(key)
    return [text for i in ids if i in texts for text in texts[i]] if texts is not None else []


def values_of_attribute(kb: KnowledgeBase, ids: Ids, given: tuple[str]) -> Answer:
    rows = kb.attribute_rows(given[0])
    return Answer([], [fact.value for i in ids if i in rows for fact in rows[i]])  # type: ignore[misc]


def verify(kb: KnowledgeBase, found: Answer, given: tuple[Value, str]) -> str | list[str]:
    return answer_steps.verify(kb, found, *given).text


def query_attribute_under_condition(kb: KnowledgeBase, ids: Ids, given: tuple[str, str, str]) -> list[str]:
    key, qualifier, text = given
    fits, rows = matcher(target_of_key(kb, qualifier, text), "="), kb.attribute_rows(key)
    facts = [fact for i in ids if i in rows for fact in rows[i]]
    return [str(fact.value) for fact in facts if any(map(fits, fact.qualifier(qualifier)))]


def query_attribute_qualifier(kb: KnowledgeBase, ids: Ids, given: tuple[str, str, str]) -> list[str]:
    key, text, qualifier = given
    fits, rows = matcher(target_of_key(kb, key, text), "="), kb.attribute_rows(key)
    facts = [fact for i in ids if i in rows for fact in rows[i] if fits(fact.value)]  # type: ignore[arg-type]
    return [str(value) for fact in facts for value in fact.qualifier(qualifier)]


def query_relation(kb: KnowledgeBase, left: Ids, right: Ids, given: tuple[()]) -> list[str]:
    return [fact.predicate for a in left for b in right for fact in kb.between(a, b)]


def query_relation_qualifier(kb: KnowledgeBase, left: Ids, right: Ids, given: tuple[str, str]) -> list[str]:
    predicate, key = given
    facts = [fact for a in left for b in right for fact in kb.between(a, b) if fact.predicate == predicate]
    return [str(value) for fact in facts for value in fact.qualifier(key)]


def _nodes(ids: Ids) -> Nodes:
    return Nodes(ids, ordered=type(ids) is BaseOrder)


def _distinct(kept: Ids, source: Ids) -> Any:
    """What was kept of `source`, each once."""
    return kept if len(kept) < 2 or isinstance(source, dict) else list(dict.fromkeys(kept))


def _lookup(ids: Ids) -> Ids:
    return ids if len(ids) < 4 or isinstance(ids, dict) else set(ids)


def _with_facts(function: Callable[..., Nodes]) -> Callable[..., Nodes]:
    """A step whose facts a QFilter* reads."""
    return lambda kb, ids, given: function(kb, _nodes(ids), *given)


LEAN: dict[str, Callable[..., Any]] = {
    "FindAll": find_all,
    "Find": find,
    "FindRelate": find_relate,
    "FilterConcept": filter_concept,
    "Filter": filter_attribute,
    "Filter" + WITH_FACTS: filter_with_facts,
    "QFilter": filter_qualifier,
    "QFilter" + WITH_FACTS: lambda kb, nodes, given: node_steps.filter_qualifier(kb, nodes, *given),
    "Relate": relate,
    "Relate" + WITH_FACTS: _with_facts(node_steps.relate),
    "And": intersect,
    "Or": unite,
    "What": what,
    "Count": count,
    "SelectBetween": select_between,
    "SelectAmong": select_among,
    "QueryAttr": query_attribute,
    "QueryAttr" + FOR_VALUES: values_of_attribute,
    "QueryAttrUnderCondition": query_attribute_under_condition,
    "QueryAttrUnderCondition" + FOR_VALUES: lambda kb, ids, given: answer_steps.query_attribute_under_condition(
        kb, _nodes(ids), *given
    ),
    "Verify": verify,
    "QueryRelation": query_relation,
    "QueryAttrQualifier": query_attribute_qualifier,
    "QueryRelationQualifier": query_relation_qualifier,
}
"""What each call of a lean plan runs."""
