"""Plain questions from a knowledge base: about one of its statements, or about what it never states."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from itertools import chain

import yaml

from bgr.data.kb.knowledge_base import KnowledgeBase
from bgr.data.kb.loading import FORWARD, OPPOSITE
from bgr.data.kb.schema import Statement
from bgr.errors import DataError

PATTERNS = "plain_questions.yaml"

SHARE, LEAST = 0.1, 40
"""Questions are about entities with many statements, as people's are: this share of those with a unique name, and at
least so many."""


@dataclass(frozen=True)
class PlainQuestion:
    """A question about one entity.

    Args:
        group: the predicate of the statement, or the kind of thing if nothing states the answer.
        answers: the values of all statements with this head and predicate; empty if nothing states the answer.
    """

    text: str
    entity: str
    group: str
    pattern: str
    answers: tuple[str, ...] = ()


@dataclass(frozen=True)
class Patterns:
    """Patterns of questions, with ``{}`` in place of a name: `stated` by predicate, `not_stated` by kind of thing."""

    stated: Mapping[str, Sequence[str]]
    not_stated: Mapping[str, Sequence[str]]


@cache
def load_patterns() -> Patterns:
    """The shipped patterns."""
    found = yaml.safe_load(files("eval.ablations").joinpath(PATTERNS).read_text(encoding="utf-8"))
    return Patterns(found["stated"], found["not stated"])


def plain_questions(
    kb: KnowledgeBase, patterns: Patterns, *, per: int, seed: int, where: str = "kb.json"
) -> list[PlainQuestion]:
    """Up to `per` questions of each pattern, fewer where there are fewer entities.

    The questions of one predicate or kind are about different entities with unique names, and depend only on the
    seed, the knowledge base and the patterns of this predicate or kind.

    Raises:
        DataError: there are no entities, or no question about a statement can be asked.
    """
    if not kb.entities:
        raise DataError(f"{where}: the knowledge base has no entities")
    names = Counter(name.casefold() for name in kb.names_by_id.values())
    unique = {node for node in kb.entities if names[kb.name(node).casefold()] == 1}
    found = []
    for predicate, texts in patterns.stated.items():
        statements = _statements(kb, predicate)
        for node, pattern in _drawn(kb, unique.intersection(statements), texts, per, f"{seed} {predicate}"):
            answers = dict.fromkeys(_value(kb, one) for one in statements[node])
            found.append(_question(kb, node, predicate, pattern, tuple(answers)))
    if not found:
        allowed = ", ".join(patterns.stated)
        raise DataError(f"{where}: no statement of an entity with a unique name can be asked about; allowed: {allowed}")
    for kind, texts in patterns.not_stated.items():
        for node, pattern in _drawn(kb, unique.intersection(kb.members_of_name(kind)), texts, per, f"{seed} {kind}"):
            found.append(_question(kb, node, kind, pattern))
    return found


def _statements(kb: KnowledgeBase, predicate: str) -> dict[str, dict[Statement, None]]:
    """The attributes and relations of a predicate by head; a relation may be stored at its tail alone."""
    found: dict[str, dict[Statement, None]] = {}
    rows = [kb.attribute_rows(predicate), *(kb.relation_rows(predicate, way) for way in (FORWARD, OPPOSITE[FORWARD]))]
    for statement in chain.from_iterable(chain.from_iterable(row.values() for row in rows)):
        found.setdefault(statement.head, {})[statement] = None
    return found


def _drawn(
    kb: KnowledgeBase, nodes: Iterable[str], patterns: Sequence[str], per: int, seed: str
) -> list[tuple[str, str]]:
    """Different entities with many statements, with the patterns in turn."""
    pool = sorted(nodes, key=lambda node: (-len(kb.attributes(node)) - len(kb.relations(node)), kb.all_ids[node]))
    wanted = per * len(patterns)
    pool = pool[: max(LEAST, int(SHARE * len(pool)), wanted)]
    drawn = random.Random(seed).sample(pool, min(wanted, len(pool)))
    return [(node, patterns[number % len(patterns)]) for number, node in enumerate(drawn)]


def _question(kb: KnowledgeBase, node: str, group: str, pattern: str, answers: tuple[str, ...] = ()) -> PlainQuestion:
    name = kb.name(node)
    return PlainQuestion(pattern.replace("{}", name), name, group, pattern, answers)


def _value(kb: KnowledgeBase, statement: Statement) -> str:
    return str(statement.value) if statement.tail is None else kb.name(statement.tail)
