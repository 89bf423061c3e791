"""Random KoPL programs over any knowledge base, every one of the 27 functions, most of them with an answer."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from typing import NamedTuple, TypeVar

from tqdm import tqdm

from bgr.errors import DataError
from bgr.kb.comparison import OPERATORS
from bgr.kb.executor import apply
from bgr.kb.knowledge_base import KnowledgeBase
from bgr.kb.loading import DIRECTIONS, FORWARD
from bgr.kb.program import ENTITIES, FACTS, FUNCTIONS, VALUES, Program, Step
from bgr.kb.results import Answer, Nodes
from bgr.kb.schema import Value
from bgr.kb.statement import Statement
from eval.random_values import OTHER_VALUES, near

LAST = tuple(name for name, signature in FUNCTIONS.items() if signature.gives not in (ENTITIES, FACTS))
SUFFIXES = {"string": "Str", "quantity": "Num", "year": "Year", "date": "Date"}
WIDE = 200
"""A set of more nodes is filtered, and not related on: most questions speak of few."""
T = TypeVar("T")


def random_programs(
    kb: KnowledgeBase, count: int, rng: random.Random, noise: float = 0.03, progress: bool = False
) -> list[Program]:
    """`count` programs, each last function equally often.

    Args:
        kb: the base; names, keys and values are drawn from it, around the nodes that a program has reached.
        count: number of programs.
        rng: the source of randomness.
        noise: probability of an input that does not fit: a name from elsewhere, or one that the base does not hold.
        progress: show a bar on standard error.
    """
    words = _Words(tuple(kb.names), tuple(kb.predicates), tuple(kb.keys), tuple(kb.qualifier_keys))
    programs: list[Program] = []
    with tqdm(total=count, desc="random programs", disable=not progress) as bar:
        while len(programs) < count:
            try:
                programs.append(_Writer(kb, rng, noise, words).program(LAST[len(programs) % len(LAST)]))
                bar.update()
            except _DeadEndError:
                continue
    return programs


class _Words(NamedTuple):
    """All that the base holds, to draw misfits from."""

    names: tuple[str, ...]
    predicates: tuple[str, ...]
    keys: tuple[str, ...]
    qualifier_keys: tuple[str, ...]


class _DeadEndError(Exception):
    """The nodes reached have nothing that the wanted function could ask for."""


class _Writer:
    """Writes one program step by step, executing as it goes to know what can be asked next."""

    def __init__(self, kb: KnowledgeBase, rng: random.Random, noise: float, words: _Words) -> None:
        self.kb, self.rng, self.noise, self.words = kb, rng, noise, words
        self.steps: list[Step] = []
        self.results: list[Nodes | Answer] = []

    def program(self, last: str) -> Program:
        if last == "What" or last == "Count":
            self.add(last, [self.branch()])
        elif last.startswith("Verify"):
            self.verify(last)
        else:
            endings: dict[str, Callable[[], None]] = {
                "SelectBetween": self.select_between,
                "SelectAmong": self.select_among,
                "QueryAttr": self.query_attribute,
                "QueryAttrUnderCondition": self.query_under_condition,
                "QueryRelation": self.query_relation,
                "QueryAttrQualifier": self.query_attribute_qualifier,
                "QueryRelationQualifier": self.query_relation_qualifier,
            }
            endings[last]()
        return Program(tuple(self.steps), "random program")

    # -- steps that give nodes ----------------------------------------------------------------------------------------

    def branch(self, around: str | None = None, depth: int = 0) -> int:
        """A chain of one to four steps; returns the number of its last. With `around` it starts near that node."""
        rng = self.rng
        if rng.random() < 0.2:
            at = self.add("FindAll", [])
            if rng.random() < 0.9:
                at = self.filter_concept(at, around)
        else:
            node = around if around is not None else rng.choice(self.kb.entities)
            at = self.add("Find", [], self.noisy(self.kb.name(node), rng.choice(self.words.names)))
        for _ in range(rng.choice((0, 1, 1, 2, 2, 3))):
            at = self.extend(at, depth)
        if len(self.nodes(at).ids) > WIDE and rng.random() < 0.9:
            at = self.filter_attribute(at)
        return at

    def extend(self, at: int, depth: int) -> int:
        choices = [self.filter_attribute, self.filter_attribute, self.filter_concept]
        if len(self.nodes(at).ids) <= WIDE:
            choices += [self.relate] * 3
        if any(fact.qualifiers for fact in self.nodes(at).facts or ()):
            choices += [self.filter_qualifier] * 4
        if depth == 0:
            choices.append(self.combine)
        try:
            return self.rng.choice(choices)(at)
        except _DeadEndError:
            return at

    def filter_concept(self, at: int, around: str | None = None) -> int:
        node = around if around is not None else self.member(at)
        concepts = self.kb.all_concepts_of(node) or self.kb.concepts
        other = self.kb.name(self.rng.choice(self.kb.concepts))
        return self.add("FilterConcept", [at], self.noisy(self.kb.name(self.rng.choice(concepts)), other))

    def relate(self, at: int) -> int:
        statement, direction = self.pick(self.kb.relations(self.member(at)))
        name = self.noisy(statement.predicate, self.rng.choice(self.words.predicates))
        return self.add("Relate", [at], name, self.noisy(direction, self.rng.choice(DIRECTIONS), known=True))

    def filter_attribute(self, at: int) -> int:
        fact = self.attribute(at)
        assert fact.value is not None
        return self.filter("Filter", at, self.noisy(fact.predicate, self.rng.choice(self.words.keys)), fact.value)

    def filter_qualifier(self, at: int) -> int:
        key, value = self.qualifier(self.pick([fact for fact in self.nodes(at).facts or () if fact.qualifiers]))
        if self.rng.random() < 0.3:
            value = self.rng.choice(OTHER_VALUES)
        return self.filter("QFilter", at, self.noisy(key, self.rng.choice(self.words.qualifier_keys)), value)

    def filter(self, family: str, at: int, key: str, value: Value) -> int:
        kind, text = near(value, self.rng)
        ops = () if kind == "string" else (self.rng.choice(OPERATORS),)
        return self.add(family + SUFFIXES[kind], [at], key, text, *ops)

    def combine(self, at: int) -> int:
        """And or Or with a branch that starts near a node of this one."""
        other = self.branch(self.member(at), depth=1)
        return self.add(self.rng.choice(("And", "Or")), [at, other])

    # -- steps that give the answer -----------------------------------------------------------------------------------

    def verify(self, last: str) -> None:
        if self.rng.random() < 0.3:
            self.query_under_condition()
        else:
            self.query_attribute()
        found = self.results[-1]
        assert isinstance(found, Answer)
        fitting = [v for v in found.values if last.endswith(SUFFIXES[v.type])]
        if not fitting:
            raise _DeadEndError
        kind, text = near(self.rng.choice(fitting), self.rng)
        if not last.endswith(SUFFIXES[kind]):
            raise _DeadEndError
        ops = () if kind == "string" else (self.rng.choice(OPERATORS),)
        self.add(last, [len(self.steps) - 1], text, *ops)

    def select_between(self) -> None:
        left = self.branch()
        fact = self.attribute(left, "quantity")
        others = tuple(self.kb.attribute_rows(fact.predicate))
        right = self.branch(self.rng.choice(others), depth=1)
        self.add("SelectBetween", [left, right], fact.predicate, self.rng.choice(("less", "greater")))

    def select_among(self) -> None:
        at = self.branch()
        self.add(
            "SelectAmong", [at], self.attribute(at, "quantity").predicate, self.rng.choice(("smallest", "largest"))
        )

    def query_attribute(self) -> None:
        at = self.branch()
        self.add("QueryAttr", [at], self.noisy(self.attribute(at).predicate, self.rng.choice(self.words.keys)))

    def query_under_condition(self) -> None:
        at = self.branch()
        fact = self.attribute(at)
        key, value = self.qualifier(fact)
        self.add("QueryAttrUnderCondition", [at], fact.predicate, self.noisy(key), near(value, self.rng)[1])

    def query_attribute_qualifier(self) -> None:
        at = self.branch()
        fact = self.attribute(at)
        assert fact.value is not None
        key, _ = self.qualifier(fact)
        self.add("QueryAttrQualifier", [at], self.noisy(fact.predicate), near(fact.value, self.rng)[1], key)

    def query_relation(self) -> None:
        self.pair()

    def query_relation_qualifier(self) -> None:
        statement, left, right = self.pair(ask=False)
        key, _ = self.qualifier(statement)
        self.add("QueryRelationQualifier", [left, right], statement.predicate, key)

    def pair(self, ask: bool = True) -> tuple[Statement, int, int]:
        left = self.branch()
        head = self.member(left)
        statement, _ = self.pick([row for row in self.kb.relations(head) if row[1] == FORWARD])
        right = self.add("Find", [], self.kb.name(statement.tail or ""))
        if ask:
            self.add("QueryRelation", [left, right])
        return statement, left, right

    # -- drawing ------------------------------------------------------------------------------------------------------

    def add(self, function: str, dependencies: list[int], *inputs: str) -> int:
        step = Step(function, tuple(dependencies), inputs)
        self.steps.append(step)
        try:
            self.results.append(apply(self.kb, step, self.results))
        except DataError:  # a program that fails is one to compare too: the next step finds nothing to ask
            self.results.append(Answer([]) if step.signature.gives == VALUES else Nodes(()))
        return len(self.steps) - 1

    def nodes(self, at: int) -> Nodes:
        result = self.results[at]
        assert isinstance(result, Nodes)
        return result

    def member(self, at: int) -> str:
        ids = self.nodes(at).ids
        return self.pick(ids if isinstance(ids, tuple | list) else tuple(ids))

    def attribute(self, at: int, kind: str | None = None) -> Statement:
        for _ in range(8):
            node = self.member(at)
            found = [f for f in self.kb.attributes(node) if f.value is not None and kind in (None, f.value.type)]
            if found:
                return self.rng.choice(found)
        raise _DeadEndError

    def qualifier(self, statement: Statement) -> tuple[str, Value]:
        return self.pick([(key, value) for key, values in statement.qualifiers for value in values])

    def pick(self, items: Sequence[T]) -> T:
        if not items:
            raise _DeadEndError
        return self.rng.choice(items)

    def noisy(self, text: str, other: str | None = None, known: bool = False) -> str:
        """Now and then another text: one the base holds, or none at all."""
        if self.rng.random() >= self.noise:
            return text
        return other if other is not None and (known or self.rng.random() < 0.5) else f"{text} of nowhere"
