"""Random KoPL programs over any knowledge base that cover all 27 functions; most of them have an answer."""

from __future__ import annotations

import datetime
import random
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import TypeVar

from tqdm import tqdm

from bgr.data.kb.comparison import OPERATORS
from bgr.data.kb.executor import run_step
from bgr.data.kb.knowledge_base import KnowledgeBase
from bgr.data.kb.loading import DIRECTIONS, FORWARD
from bgr.data.kb.program import ENTITIES, FACTS, FUNCTIONS, VALUES, Program, Step
from bgr.data.kb.schema import Answer, Nodes, Statement, Value
from bgr.errors import DataError

OTHER_VALUES = (Value("quantity", 1), Value("date", datetime.date(1960, 2, 1)), Value("year", 1960))
"""Values that qualifiers are sometimes compared with, since not every knowledge base has qualifiers of each type."""


def near(value: Value, rng: random.Random) -> tuple[str, str]:
    """Kind and text of a value close to the given one, in the form of a program."""
    raw = value.value
    if value.type == "quantity":
        number = raw if rng.random() < 0.6 else float(raw) + rng.choice((-1, 1, 0.5))  # type: ignore[arg-type]
        return "quantity", str(number) if value.unit == "1" else f"{number} {value.unit}"
    if value.type == "date":
        iso = str(raw)
        if rng.random() < 0.3:
            return rng.choice(("year", "date")), str(int(iso[:4]))
        return rng.choice(("year", "date", "date")), iso.replace("-", rng.choice("-/"))
    if value.type == "year":
        text = str(raw)
        within = text.isdigit() and len(text) == 4 and rng.random() < 0.3
        return rng.choice(("year", "date")), f"{text}-07-01" if within else text
    return "string", str(raw)


LAST = tuple(name for name, signature in FUNCTIONS.items() if signature.gives not in (ENTITIES, FACTS))
"""Functions that can end a program."""

SUFFIXES = {"string": "Str", "quantity": "Num", "year": "Year", "date": "Date"}
WIDE = 200
"""A larger set of nodes is filtered and not used for relations, because most questions are about few nodes."""

T = TypeVar("T")


class DeadEndError(Exception):
    """The current nodes have no data for the function."""


class ProgramWriter:
    """Generates programs step by step, executing each step to know which functions can follow. A branch is a chain of
    steps that return entities, with values close to those of the base; `noise` is the probability of an input that does
    not match."""

    def __init__(self, kb: KnowledgeBase, rng: random.Random, noise: float) -> None:
        self.kb, self.rng, self.noise = kb, rng, noise
        self.names, self.predicates = tuple(kb.names), tuple(kb.predicates)
        self.keys, self.qualifier_keys = tuple(kb.keys), tuple(kb.qualifier_keys)
        self.steps: list[Step] = []
        self.results: list[Nodes | Answer] = []

    def program(self, last: str) -> Program:
        """A program that ends in the given function.

        Raises:
            DeadEndError: no input was found for a step.
        """
        self.steps, self.results = [], []
        if last in ("What", "Count"):
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
        """Add a chain of one to four steps and return the index of the last. With `around`, it starts near that
        node."""
        rng = self.rng
        if rng.random() < 0.2:
            at = self.add("FindAll", [])
            if rng.random() < 0.9:
                at = self.filter_concept(at, around)
        else:
            node = around if around is not None else rng.choice(self.kb.entities)
            at = self.add("Find", [], self.noisy(self.kb.name(node), rng.choice(self.names)))
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
        except DeadEndError:
            return at

    def filter_concept(self, at: int, around: str | None = None) -> int:
        node = around if around is not None else self.member(at)
        concepts = self.kb.all_concepts_of(node) or self.kb.concepts
        other = self.kb.name(self.rng.choice(self.kb.concepts))
        return self.add("FilterConcept", [at], self.noisy(self.kb.name(self.rng.choice(concepts)), other))

    def relate(self, at: int) -> int:
        statement, direction = self.pick(self.kb.relations(self.member(at)))
        name = self.noisy(statement.predicate, self.rng.choice(self.predicates))
        return self.add("Relate", [at], name, self.noisy(direction, self.rng.choice(DIRECTIONS), known=True))

    def filter_attribute(self, at: int) -> int:
        fact = self.attribute(at)
        assert fact.value is not None
        return self.filter("Filter", at, self.noisy(fact.predicate, self.rng.choice(self.keys)), fact.value)

    def filter_qualifier(self, at: int) -> int:
        key, value = self.qualifier(self.pick([fact for fact in self.nodes(at).facts or () if fact.qualifiers]))
        if self.rng.random() < 0.3:
            value = self.rng.choice(OTHER_VALUES)
        return self.filter("QFilter", at, self.noisy(key, self.rng.choice(self.qualifier_keys)), value)

    def filter(self, family: str, at: int, key: str, value: Value) -> int:
        kind, text = near(value, self.rng)
        ops = () if kind == "string" else (self.rng.choice(OPERATORS),)
        return self.add(family + SUFFIXES[kind], [at], key, text, *ops)

    def combine(self, at: int) -> int:
        """Add And or Or with a branch that starts near a node of this one."""
        other = self.branch(self.member(at), depth=1)
        return self.add(self.rng.choice(("And", "Or")), [at, other])

    # -- drawing ------------------------------------------------------------------------------------------------------

    def add(self, function: str, dependencies: list[int], *inputs: str) -> int:
        step = Step(function, tuple(dependencies), inputs)
        self.steps.append(step)
        try:
            self.results.append(run_step(self.kb, step, self.results))
        except DataError:  # failing programs are compared too; the next step has no data
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
        raise DeadEndError

    def qualifier(self, statement: Statement) -> tuple[str, Value]:
        return self.pick([(key, value) for key, values in statement.qualifiers for value in values])

    def pick(self, items: Sequence[T]) -> T:
        if not items:
            raise DeadEndError
        return self.rng.choice(items)

    def noisy(self, text: str, other: str | None = None, known: bool = False) -> str:
        """The text or, with probability `noise`, another or an unknown one."""
        if self.rng.random() >= self.noise:
            return text
        return other if other is not None and (known or self.rng.random() < 0.5) else f"{text} of nowhere"

    # -- last steps ---------------------------------------------------------------------------------------------------

    def verify(self, last: str) -> None:
        if self.rng.random() < 0.3:
            self.query_under_condition()
        else:
            self.query_attribute()
        found = self.results[-1]
        assert isinstance(found, Answer)
        fitting = [v for v in found.values if last.endswith(SUFFIXES[v.type])]
        if not fitting:
            raise DeadEndError
        kind, text = near(self.rng.choice(fitting), self.rng)
        if not last.endswith(SUFFIXES[kind]):
            raise DeadEndError
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
        self.add("QueryAttr", [at], self.noisy(self.attribute(at).predicate, self.rng.choice(self.keys)))

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
        _, left, right = self.pair()
        self.add("QueryRelation", [left, right])

    def query_relation_qualifier(self) -> None:
        statement, left, right = self.pair()
        key, _ = self.qualifier(statement)
        self.add("QueryRelationQualifier", [left, right], statement.predicate, key)

    def pair(self) -> tuple[Statement, int, int]:
        left = self.branch()
        head = self.member(left)
        statement, _ = self.pick([row for row in self.kb.relations(head) if row[1] == FORWARD])
        right = self.add("Find", [], self.kb.name(statement.tail or ""))
        return statement, left, right


def random_programs(
    kb: KnowledgeBase, count: int, rng: random.Random, noise: float = 0.03, progress: bool = False
) -> list[Program]:
    """Generate `count` programs with each final function equally often. Names, keys and values are sampled near the
    nodes that a program has reached, or with probability `noise` are unrelated or unknown ones."""
    writer = ProgramWriter(kb, rng, noise)
    programs: list[Program] = []
    with tqdm(total=count, desc="random programs", disable=not progress) as bar:
        while len(programs) < count:
            with suppress(DeadEndError):
                programs.append(writer.program(LAST[len(programs) % len(LAST)]))
                bar.update()
    return programs
