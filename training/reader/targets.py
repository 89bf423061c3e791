"""What a reader should find in the evidence of a question: spans, numbers and facts, from its answer and program.

The program's last step says what kind of answer it is. Which facts are compared or counted follows from the statements
of the textual database; without them, questions that need it are read as far as the evidence and the answer show.

What a question counts follows from the steps of its program over the statements of its evidence alone
(`counted_facts`).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import torch

from bgr.data.example import Example
from bgr.data.kb.schema import Fact
from bgr.graph.evidence_graph import EvidenceGraph
from bgr.models.extractive_reader import OPERATORS
from bgr.models.numbers import compare
from bgr.reader.amounts import amounts, common_sizes
from bgr.reader.comparisons import compared_amounts, wants_most
from bgr.reader.counting import count_stated
from bgr.reader.question_words import says, whole_words
from bgr.utils.quantities import Quantity, find_quantities, scaled_quantities, spelled_as_digits

StatementsOf = Callable[[Example, int], Sequence[Fact]]
"""The statements of a sample's candidate; empty if they are unknown."""

MOST = {"greater": True, "largest": True, "less": False, "smallest": False}
"""What the last input of a step that selects says."""

TOLERANCE = 1e-6

SHORTEST = 4
"""Letters of a word by which facts that count are told from others."""

Found = dict[str, frozenset[int]]
"""Entities, each with the facts in which a step found it."""


@dataclass(frozen=True)
class Place:
    """Characters of the fact at position `fact` of the evidence."""

    fact: int
    start: int
    end: int


@dataclass(frozen=True)
class Target:
    """What to find, in the terms of `bgr.models.extractive_reader.ReaderScores`.

    Args:
        kind: one of ``KINDS``.
        spans, quantities: all places that are right.
        unit: printed after the number.
        yes, most, label: the answer of this kind; ``None`` if it is of another kind.
        operator, asked: how a value is verified, and the numbers of the question (of fact −1) that it is compared with.
        support: positions of the facts that hold the answer, are compared or counted; ``None`` if they are unknown.
        names: for each fact that counts, all places of the name of what is counted.
        relations: the one relation of each fact that states no other.
    """

    kind: str
    spans: tuple[Place, ...] = ()
    quantities: tuple[Place, ...] = ()
    unit: str = ""
    yes: bool | None = None
    most: bool | None = None
    label: str | None = None
    operator: str | None = None
    asked: tuple[Place, ...] = ()
    support: frozenset[int] | None = None
    names: tuple[tuple[Place, ...], ...] = ()
    relations: Mapping[int, str] = field(default_factory=dict)


NOTHING = Target("none")


def target_of(
    example: Example, graph: EvidenceGraph, statements_of: StatementsOf, names: Mapping[str, str] | None = None
) -> Target | None:
    """The target for reading a `graph` that has the question's evidence; ``None`` if nothing in it is known to be
    right. `names` are those of the entities of the statements, by default their ids."""
    if example.answer_unknown:
        return None
    order = graph.order()
    texts = [example.facts[node] for node in order]
    told = [statements_of(example, node) for node in order]
    starts = {start for start, _ in example.graph.edges}
    leaves = [place for place, node in enumerate(order) if node in example.graph.nodes and node not in starts]
    found = _target(example, texts, told, leaves, names or {})
    return None if found is None else replace(found, relations=_relations(told))


def _target(
    example: Example,
    texts: Sequence[str],
    told: Sequence[Sequence[Fact]],
    leaves: Sequence[int],
    names: Mapping[str, str],
) -> Target | None:
    program = example.program
    function, inputs = (program[-1]["function"], program[-1]["inputs"]) if program else ("", [])
    if example.answer in ("yes", "no") and (function.startswith("Verify") or not function):
        key = _key_before(program)
        verified = _verified(example, texts, told, key, function, inputs)
        if verified is not None:
            return verified
        return Target("boolean", yes=example.answer == "yes", support=_about(told, key))
    unstated = not function and example.type in ("count", "comparison")
    if unstated and len(leaves) > 1:
        return _of_leaves(example, texts, leaves)
    if function == "Count":
        return _count(example, texts, told, names)
    if function in ("SelectBetween", "SelectAmong"):
        choice = _choice(example, texts, told, key=inputs[0], most=MOST[inputs[1]])
        if choice is not None:
            return choice
    if function == "QueryRelation":
        return Target("label", label=example.answer, support=_about(told, example.answer))
    key = inputs[0] if function.startswith("QueryAttr") and inputs else None
    found = _quantity(example.answer) if function != "What" else None
    if found is not None and (function or _is_amount(example.answer)):
        quantity, unit = found
        places = _of_key(tuple(_equal(texts, quantity)), told, key)
        if places:
            return Target("quantity", quantities=places, unit=unit, support=_facts_of(places))
    places = _of_key(tuple(_occurrences(texts, example.answer)), told, key)
    if places:
        return Target("span", spans=places, support=_facts_of(places))
    return Target("label", label=example.answer) if example.answer and not unstated else None


def _key_before(program: Sequence[Mapping[str, Any]]) -> str | None:
    """The attribute or relation whose value a last step verifies."""
    inputs = program[-2]["inputs"] if len(program) > 1 else []
    return str(inputs[0]) if inputs else None


def _verified(
    example: Example,
    texts: Sequence[str],
    told: Sequence[Sequence[Fact]],
    key: str | None,
    function: str,
    inputs: Sequence[str],
) -> Target | None:
    """What decides a question that verifies a value: the value in the facts, and that of the question. ``None`` unless
    this gives the right answer."""
    about = _about(told, key)
    if about is None or not inputs:
        return None
    values = [
        fact.value for number in about for fact in told[number] if fact.predicate == key and fact.value is not None
    ]
    if function == "VerifyStr":
        spans = tuple(one for value in values for one in _occurrences(texts, str(value)) if one.fact in about)
        said = any(says(example.question, texts[one.fact][one.start : one.end]) for one in spans)
        sound = bool(spans) and len({str(value) for value in values}) == 1 and said == (example.answer == "yes")
        return Target("verify", spans=spans, operator="said", support=_facts_of(spans)) if sound else None
    wanted, operator = _quantity(str(inputs[0])), inputs[-1]
    sizes = [found[0] for value in values if (found := find_quantities(str(value))[:1])]
    if wanted is None or operator not in OPERATORS or len({one.size for one in sizes}) != 1:
        return None
    order = "<=>"[int(compare(torch.tensor(sizes[0].size), torch.tensor(wanted[0].size)))]
    right = order != "=" if operator == "!=" else order == operator
    quantities = tuple(one for one in _equal(texts, sizes[0]) if one.fact in about)
    asked = tuple(replace(one, fact=-1) for one in _equal([example.question], wanted[0]))
    if not quantities or not asked or right != (example.answer == "yes"):
        return None
    return Target("verify", quantities=quantities, asked=asked, operator=operator, support=_facts_of(quantities))


def _count(
    example: Example, texts: Sequence[str], told: Sequence[Sequence[Fact]], names: Mapping[str, str]
) -> Target | None:
    """The facts in which what is counted is found, and its name in each; ``None`` if they show another number."""
    counted = counted_facts(example.program, told, names)
    if not counted or str(len(counted)) != example.answer:
        return None
    places: dict[int, list[Place]] = {}
    for entity, facts in counted.items():
        for fact in facts:
            there = _occurrences([texts[fact]], names.get(entity, entity))
            places.setdefault(fact, []).extend(replace(one, fact=fact) for one in there)
    named = tuple(tuple(one) for one in places.values() if one)
    return Target("count", support=frozenset(places), names=named)


def _relations(told: Sequence[Sequence[Fact]]) -> dict[int, str]:
    """The relation that each fact states, of those that state one."""
    stated = [{fact.predicate for fact in facts if fact.tail is not None} for facts in told]
    return {number: next(iter(one)) for number, one in enumerate(stated) if len(one) == 1}


def _facts_of(places: Sequence[Place]) -> frozenset[int]:
    return frozenset(one.fact for one in places)


def _about(told: Sequence[Sequence[Fact]], key: str | None) -> frozenset[int] | None:
    """The facts that state something under a key, if there are any."""
    found = frozenset(n for n, facts in enumerate(told) if any(fact.predicate == key for fact in facts))
    return found or None


def _of_key(places: tuple[Place, ...], told: Sequence[Sequence[Fact]], key: str | None) -> tuple[Place, ...]:
    """The places in facts that state something under the key, or all of them if there are none."""
    about = _about(told, key) or ()
    return tuple(one for one in places if one.fact in about) or places


def _occurrences(texts: Sequence[str], answer: str) -> Iterator[Place]:
    """Where an answer stands in the facts, as whole words, the first letter in either case."""
    if not answer:
        return
    pattern = re.compile(rf"(?<!\w)(?:{re.escape(answer)}|{re.escape(answer[0].swapcase() + answer[1:])})(?!\w)")
    for number, text in enumerate(texts):
        for match in pattern.finditer(text):
            yield Place(number, match.start(), match.end())


def _quantity(answer: str) -> tuple[Quantity, str] | None:
    """The number or date that an answer begins with, and the words after it, if there is nothing else."""
    found = find_quantities(answer)
    if len(found) != 1 or found[0].start:
        return None
    unit = answer[found[0].end :].strip()
    return None if any(letter.isdigit() for letter in unit) else (found[0], unit)


def _is_amount(answer: str) -> bool:
    """Whether all of an answer is a number with a unit that is known: *80 crowns* is a span."""
    found = amounts(answer)
    return len(found) == 1 and (found[0].start, found[0].end) == (0, len(answer))


def _equal(texts: Sequence[str], wanted: Quantity) -> Iterator[Place]:
    for number, text in enumerate(texts):
        for one in scaled_quantities(text):
            if one.date == wanted.date and abs(one.size - wanted.size) <= TOLERANCE * abs(wanted.size):
                yield Place(number, one.start, one.end)


def _choice(
    example: Example, texts: Sequence[str], told: Sequence[Sequence[Fact]], *, key: str, most: bool
) -> Target | None:
    """The facts that state the compared values, their numbers, and the name of the one that is chosen."""
    quantities: list[Place] = []
    compared: dict[int, list[str]] = {}
    for number, facts in enumerate(told):
        for fact in facts:
            if fact.predicate == key and fact.value is not None:
                value = find_quantities(str(fact.value))[:1]
                places = [place for place in _equal(texts, value[0]) if place.fact == number] if value else []
                if places:
                    quantities += places
                    compared.setdefault(number, []).append(fact.head)
    heads = {head for names in compared.values() for head in names}
    spans = [place for place in _occurrences(texts, example.answer) if place.fact in compared]
    if len(heads) < 2 or not spans:
        return None
    return Target("choice", spans=tuple(spans), quantities=tuple(quantities), most=most, support=_facts_of(quantities))


def _of_leaves(example: Example, texts: Sequence[str], leaves: Sequence[int]) -> Target | None:
    """What to read in evidence with several ends, if its statements are not known.

    A count is that of the ends, if the answer is their number, or of those that are as the question wants
    (`_wanted`). A comparison is one of the ends, if each states one amount and the answer stands in the one that the
    words of the question ask for. Any other answer is a span: two conditions on one thing also have two ends.
    """
    spans = tuple(_occurrences(texts, example.answer))
    if example.type == "count":
        counted = frozenset(leaves) if example.answer == str(len(leaves)) else _wanted(example, texts, leaves)
        return Target("count", support=counted) if counted else None
    stated = compared_amounts(example.question, [texts[leaf] for leaf in leaves])
    sizes = common_sizes(stated) if stated else None
    most = wants_most(example.question, stated) if stated else None
    if sizes is not None and most is not None:
        chosen = leaves[sizes.index((max if most else min)(sizes))]
        named = tuple(one for one in spans if one.fact in leaves)
        if len(set(sizes)) == len(sizes) and {one.fact for one in named} == {chosen}:
            quantities = [
                Place(leaf, one.start, one.end)
                for leaf, amount in zip(leaves, stated, strict=True)
                for one in scaled_quantities(texts[leaf])
                if amount.start <= one.start < amount.end
            ]
            return Target("choice", named, tuple(quantities), most=most, support=frozenset(leaves))
    return Target("span", spans=spans, support=_facts_of(spans)) if spans else None


def _wanted(example: Example, texts: Sequence[str], leaves: Sequence[int]) -> frozenset[int] | None:
    """The ends that a question counts: those with an amount as it wants it or, if it has no number, with a word of the
    question that the others lack, such as the name of a maker. ``None`` unless they are as many as the answer says, and
    no others are."""
    stated = count_stated(example.question, texts)
    if stated is not None:
        return frozenset(stated.facts) if stated.text == example.answer else None
    if any(letter.isdigit() for letter in spelled_as_digits(example.question)):
        return None
    words = [set(whole_words(texts[leaf]).split()) for leaf in leaves]
    asked = [word for word in whole_words(example.question).split() if len(word) >= SHORTEST]
    groups = {frozenset(leaf for leaf, there in zip(leaves, words, strict=True) if word in there) for word in asked}
    found = [group for group in groups if str(len(group)) == example.answer]
    return found[0] if len(found) == 1 else None


def counted_facts(
    program: Sequence[Mapping[str, Any]], told: Sequence[Sequence[Fact]], names: Mapping[str, str]
) -> Found:
    """The entities that the last step counts, each with its facts; none if a step is unknown.

    All evidence holds, so the steps that only narrow the entities by a value or qualifier compare nothing. Entities of
    both sides of *and* have the facts of both.

    Args:
        program: steps of KoPL, each after those that it uses.
        told: the statements of each fact.
        names: names of the entities, by default their ids.
    """
    stack: list[Found] = []
    for step in program[:-1]:
        function, inputs = step["function"], [str(one) for one in step["inputs"]]
        if function == "Find":
            ends = {end for facts in told for fact in facts for end in (fact.head, fact.tail) if end is not None}
            stack.append({end: frozenset() for end in ends if names.get(end, end) == inputs[0]})
        elif function == "FindAll":
            stack.append({fact.head: frozenset() for facts in told for fact in facts})
        elif function == "Relate" and stack:
            stack.append(_related(stack.pop(), told, inputs[0], forward="forward" in inputs[1:]))
        elif function in ("And", "Or") and len(stack) > 1:
            two, one = stack.pop(), stack.pop()
            entities = [end for end in one if end in two] if function == "And" else [*one, *two]
            stack.append({end: one.get(end, frozenset()) | two.get(end, frozenset()) for end in entities})
        elif function in ("FilterStr", "FilterNum", "FilterDate", "FilterYear") and stack:
            about = _by_entity(told, lambda fact, key=inputs[0]: fact.head if fact.predicate == key else None)  # type: ignore[misc]
            stack.append({end: facts | about[end] for end, facts in stack.pop().items() if end in about})
        elif not (function == "FilterConcept" or function.startswith("QFilter")) or not stack:
            return {}
    return stack.pop() if len(stack) == 1 else {}


def _related(starts: Found, told: Sequence[Sequence[Fact]], relation: str, *, forward: bool) -> Found:
    """What a relation leads to. Facts of the entities before are no longer theirs."""

    def end(fact: Fact) -> str | None:
        start, found = (fact.head, fact.tail) if forward else (fact.tail, fact.head)
        return found if fact.predicate == relation and start in starts and fact.tail is not None else None

    return _by_entity(told, end)


def _by_entity(told: Sequence[Sequence[Fact]], entity: Callable[[Fact], str | None]) -> Found:
    found: Found = {}
    for number, facts in enumerate(told):
        for fact in facts:
            one = entity(fact)
            if one is not None:
                found[one] = found.get(one, frozenset()) | {number}
    return found
