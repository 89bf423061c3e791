"""What a reader should find in the evidence of a question: spans, numbers and facts, from its answer and program.

The program's last step says what kind of answer it is. Which facts are compared or counted follows from the statements
of the textual database; without them, questions that need it are read as far as the text of the answer shows.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch

from bgr.data.example import Example
from bgr.data.kb.schema import Fact
from bgr.graph.evidence_graph import EvidenceGraph
from bgr.models.extractive_reader import OPERATORS
from bgr.models.numbers import compare
from bgr.reader.extraction import whole_words
from bgr.utils.quantities import Quantity, find_quantities, scaled_quantities

StatementsOf = Callable[[Example, int], Sequence[Fact]]
"""The statements of a sample's candidate; empty if they are unknown."""

MOST = {"greater": True, "largest": True, "less": False, "smallest": False}
"""What the last input of a step that selects says."""

TOLERANCE = 1e-6


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
        supports: positions of the facts that hold the answer, are compared or counted. One set if it is known, and
            several if each of them is right: films by two people are counted by the facts of either.
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
    supports: tuple[frozenset[int], ...] = ()


NOTHING = Target("none")


def target_of(example: Example, graph: EvidenceGraph, statements_of: StatementsOf) -> Target | None:
    """The target for reading a `graph` that has the question's evidence; ``None`` if nothing in it is known to be
    right."""
    if example.answerable and not example.answer:  # own data may lack answers
        return None
    order = graph.order()
    texts = [example.facts[node] for node in order]
    told = [statements_of(example, node) for node in order]
    program = example.program
    function, inputs = (program[-1]["function"], program[-1]["inputs"]) if program else ("", [])
    if example.answer in ("yes", "no") and (function.startswith("Verify") or not function):
        key = _key_before(program)
        verified = _verified(example, texts, told, key, function, inputs)
        if verified is not None:
            return verified
        return Target("boolean", yes=example.answer == "yes", supports=_about(told, key))
    if function == "Count":
        counted = _counted(example, told)
        return Target("count", supports=counted) if counted else None
    if function in ("SelectBetween", "SelectAmong"):
        choice = _choice(example, texts, told, key=inputs[0], most=MOST[inputs[1]])
        if choice is not None:
            return choice
    if function == "QueryRelation":
        return Target("label", label=example.answer)
    key = inputs[0] if function.startswith("QueryAttr") and inputs else None
    if function != "What" and (found := _quantity(example.answer)) is not None:
        quantity, unit = found
        places = _of_key(tuple(_equal(texts, quantity)), told, key)
        if places:
            return Target("quantity", quantities=places, unit=unit, supports=_facts_of(places))
    places = _of_key(tuple(_occurrences(texts, example.answer)), told, key)
    if places:
        return Target("span", spans=places, supports=_facts_of(places))
    return Target("label", label=example.answer) if example.answer else None


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
    about = next(iter(_about(told, key)), None)
    if about is None or not inputs:
        return None
    values = [
        fact.value for number in about for fact in told[number] if fact.predicate == key and fact.value is not None
    ]
    if function == "VerifyStr":
        spans = tuple(one for value in values for one in _occurrences(texts, str(value)) if one.fact in about)
        said = any(whole_words(texts[one.fact][one.start : one.end]) in whole_words(example.question) for one in spans)
        sound = bool(spans) and len({str(value) for value in values}) == 1 and said == (example.answer == "yes")
        return Target("verify", spans=spans, operator="said", supports=_facts_of(spans)) if sound else None
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
    return Target("verify", quantities=quantities, asked=asked, operator=operator, supports=_facts_of(quantities))


def _facts_of(places: Sequence[Place]) -> tuple[frozenset[int], ...]:
    return (frozenset(one.fact for one in places),)


def _reads(function: str) -> bool:
    """Whether a step's first input is an attribute or a relation."""
    return function == "Relate" or (function.startswith("Filter") and function != "FilterConcept")


def _about(told: Sequence[Sequence[Fact]], key: str | None) -> tuple[frozenset[int], ...]:
    """The facts that state something under a key, if there are any."""
    found = frozenset(n for n, facts in enumerate(told) if any(fact.predicate == key for fact in facts))
    return (found,) if found else ()


def _of_key(places: tuple[Place, ...], told: Sequence[Sequence[Fact]], key: str | None) -> tuple[Place, ...]:
    """The places in facts that state something under the key, or all of them if there are none."""
    about = {fact for facts in _about(told, key) for fact in facts}
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
    return Target("choice", spans=tuple(spans), quantities=tuple(quantities), most=most, supports=_facts_of(quantities))


def _counted(example: Example, told: Sequence[Sequence[Fact]]) -> tuple[frozenset[int], ...]:
    """Sets with one fact for each counted entity, from the statements of the last steps that find entities; none if the
    statements show no set of the right size."""
    wanted = int(example.answer) if example.answer.isdecimal() else 0
    steps = [step["inputs"] for step in example.program if _reads(step["function"])]
    found = dict[frozenset[int], None]()
    for many in range(1, len(steps) + 1):
        sides = {str(key): "tail" if "forward" in more else "head" for key, *more in steps[-many:]}
        for group in _groups(told, sides):
            if wanted and len(group) == wanted == len(set(group.values())):
                found[frozenset(group.values())] = None
    return tuple(found)


def _groups(told: Sequence[Sequence[Fact]], sides: Mapping[str, str]) -> Iterator[dict[str, int]]:
    """The entities on some side of each key, with the first fact that has them: all of them, and those that one key
    leads to from one entity."""
    groups = defaultdict[tuple[str, ...], dict[str, int]](dict)
    for number, facts in enumerate(told):
        for fact in facts:
            side = sides.get(fact.predicate, "head")
            entity, start = (fact.head, fact.tail) if side == "head" else (fact.tail, fact.head)
            if fact.predicate in sides and entity is not None:
                groups[()].setdefault(entity, number)
                groups[fact.predicate, str(start)].setdefault(entity, number)
    yield from groups.values()
