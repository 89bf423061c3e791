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
from bgr.kb.knowledge_base import KnowledgeBase
from bgr.kb.lean_plan import FOR_VALUES, WITH_FACTS
from bgr.kb.results import Answer, BaseOrder, Nodes
from bgr.kb.schema import Value

Ids = Collection[str]


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


def filter_attribute(kb: KnowledgeBase, ids: Ids, given: tuple[str, Callable[[Any, Any], bool], Any, Any]) -> Ids:
    column, compare, goal, wanted = given
    values = kb.bare.get(column)
    if values is None or len(ids) > node_steps.SCAN_LIMIT:
        return node_steps.filter_attribute(kb, _nodes(ids), *wanted).ids
    return _distinct([i for i in ids if i in values and compare(values[i], goal)], ids)


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


def _nodes(ids: Ids) -> Nodes:
    return Nodes(ids, ordered=type(ids) is BaseOrder)


def _distinct(kept: list[str], source: Ids) -> list[str]:
    """What was kept of `source`, each once."""
    return kept if len(kept) < 2 or isinstance(source, dict) else list(dict.fromkeys(kept))


def _lookup(ids: Ids) -> Ids:
    return ids if len(ids) < 4 or isinstance(ids, dict) else set(ids)


def _with_facts(function: Callable[..., Nodes]) -> Callable[..., Nodes]:
    """A step whose facts a QFilter* reads."""
    return lambda kb, ids, given: function(kb, _nodes(ids), *given)


def _text(function: Callable[..., Answer]) -> Callable[..., str | list[str]]:
    """The printed answer of a step that reads one set of nodes."""
    return lambda kb, ids, given: function(kb, _nodes(ids), *given).text


def _text_of_pair(function: Callable[..., Answer]) -> Callable[..., str | list[str]]:
    return lambda kb, left, right, given: function(kb, _nodes(left), _nodes(right), *given).text


LEAN: dict[str, Callable[..., Any]] = {
    "FindAll": find_all,
    "Find": find,
    "FindRelate": find_relate,
    "FilterConcept": filter_concept,
    "Filter": filter_attribute,
    "Filter" + WITH_FACTS: _with_facts(node_steps.filter_attribute),
    "QFilter": lambda kb, nodes, given: node_steps.filter_qualifier(kb, nodes, *given).ids,
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
    "QueryAttrUnderCondition": _text(answer_steps.query_attribute_under_condition),
    "QueryAttrUnderCondition" + FOR_VALUES: lambda kb, ids, given: answer_steps.query_attribute_under_condition(
        kb, _nodes(ids), *given
    ),
    "Verify": verify,
    "QueryRelation": _text_of_pair(answer_steps.query_relation),
    "QueryAttrQualifier": _text(answer_steps.query_attribute_qualifier),
    "QueryRelationQualifier": _text_of_pair(answer_steps.query_relation_qualifier),
}
"""What each call of a lean plan runs."""
