"""Random KoPL programs over any knowledge base that cover all 27 functions; most of them have an answer."""

from __future__ import annotations

import random
from collections.abc import Callable

from tqdm import tqdm

from bgr.data.kb.comparison import OPERATORS
from bgr.data.kb.knowledge_base import KnowledgeBase
from bgr.data.kb.loading import FORWARD
from bgr.data.kb.program import ENTITIES, FACTS, FUNCTIONS, Program
from bgr.data.kb.schema import Answer, Statement
from eval.bench.reference.random_branches import SUFFIXES, BranchWriter, DeadEndError, Words, near

LAST = tuple(name for name, signature in FUNCTIONS.items() if signature.gives not in (ENTITIES, FACTS))


def random_programs(
    kb: KnowledgeBase, count: int, rng: random.Random, noise: float = 0.03, progress: bool = False
) -> list[Program]:
    """Generate `count` programs with each final function equally often.

    Args:
        kb: the knowledge base; names, keys and values are sampled near the nodes that a program has reached.
        count: number of programs.
        rng: the source of randomness.
        noise: probability of an input that does not match: an unrelated or unknown name.
        progress: show a progress bar on standard error.
    """
    words = Words(tuple(kb.names), tuple(kb.predicates), tuple(kb.keys), tuple(kb.qualifier_keys))
    programs: list[Program] = []
    with tqdm(total=count, desc="random programs", disable=not progress) as bar:
        while len(programs) < count:
            try:
                programs.append(_Writer(kb, rng, noise, words).program(LAST[len(programs) % len(LAST)]))
                bar.update()
            except DeadEndError:
                continue
    return programs


class _Writer(BranchWriter):
    """Generates a program: branches and the final step with the answer."""

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
