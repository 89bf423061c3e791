"""The textual database: each fact of the corpus in one sentence, alone or joined with others (paper, 3.1.2).

A dataset has sentences only for what its questions need and for distractors. In a whole database
(`write_whole_database`) every other statement of the knowledge base gets a sentence of its own. So no statement is in
two sentences, and what a question needs is among hundreds of thousands of others about the same films, people and
countries.
"""

from __future__ import annotations

import json
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from random import Random
from typing import Any, Protocol

from tqdm import tqdm

from bgr.data.kb.knowledge_base import KnowledgeBase
from bgr.data.kb.loading import BACKWARD, FORWARD
from bgr.data.kb.schema import Fact, Statement, Value
from bgr.data.options import DatabaseOptions
from bgr.data.reasongraphqa.io.dataset import FACTS_FILE
from bgr.data.reasongraphqa.io.fact_records import FactRecord, read_facts
from bgr.data.reasongraphqa.verbalize.verbalizer import Verbalizer
from bgr.errors import DataError
from bgr.utils.atomic_io import output_folder
from bgr.utils.json_utils import repr_short

MAX_QUALIFIERS = 2


def meaning(fact: Fact) -> tuple[Any, ...]:
    """The content of a fact without its qualifiers, equal for both directions of a relation (`shares border with`)."""
    if fact.tail is not None:
        return (fact.predicate, *sorted((fact.head, fact.tail)))
    return (fact.predicate, fact.head, fact.value)


class FactVerbalizer(Protocol):
    """Verbalizes one to three facts of a head: by templates (`Verbalizer`) or a model (`Seq2seqVerbalizer`)."""

    def sentence(self, facts: Sequence[Fact]) -> str: ...


@dataclass(frozen=True)
class FactUnit:
    """A sentence of the database. It is about the first of `facts`; the others are joined to it."""

    id: str
    facts: tuple[Fact, ...]
    sentence: str
    gold: bool

    def to_json(self, kb: KnowledgeBase) -> dict[str, Any]:
        facts = []
        for fact in self.facts:
            record: dict[str, Any] = {"head": fact.head, "name": kb.name(fact.head), "predicate": fact.predicate}
            if fact.tail is not None:
                record |= {"tail": fact.tail, "tail_name": kb.name(fact.tail)}
            elif fact.value is not None:
                record["value"] = fact.value.to_json()
            if fact.qualifiers:
                record["qualifiers"] = [[key, value.to_json()] for key, value in fact.qualifiers]
            facts.append(record)
        return {"id": self.id, "sentence": self.sentence, "gold": self.gold, "facts": facts}


class TextualDatabase:
    """Sentences of facts, added one by one; no statement is in two sentences.

    Args:
        gold: all facts that some question needs, as the executor gives them; they are never joined to other facts.
        joined_probability: probability that one or two more triples are joined to a fact.
        seed: seed of the joined triples, sampled independently for each fact.
    """

    def __init__(
        self,
        kb: KnowledgeBase,
        verbalizer: FactVerbalizer,
        gold: Iterable[Fact],
        *,
        joined_probability: float,
        seed: int,
    ) -> None:
        self.kb = kb
        self.units: list[FactUnit] = []
        self._verbalizer = verbalizer
        self._joined_probability = joined_probability
        self._seed = seed
        self._unit_of: dict[Fact, int] = {}
        self._of_head: dict[str, tuple[Fact, ...]] = {}
        gold = tuple(dict.fromkeys(gold))
        self._used: dict[Statement, dict[tuple[str, Value], None]] = {}
        for fact in gold:
            statement = self._statement(fact)
            if statement is not None:
                self._used.setdefault(statement, {}).update(dict.fromkeys(fact.qualifiers))
        self._reserved = {meaning(fact) for fact in gold}

    def gold_unit(self, fact: Fact) -> FactUnit:
        """The unit of a gold fact, the same for every question that needs it."""
        return self.unit_with(fact, gold=True)

    def unit_with(self, fact: Fact, *, gold: bool = False) -> FactUnit:
        """The unit that states a fact of a program, possibly joined to another fact."""
        statement = self._statement(fact)
        verbalized = self._verbalized(statement) if statement is not None else fact
        number = self._unit_of.get(verbalized)
        return self.units[number] if number is not None else self._add(verbalized, gold=gold)

    def unit(self, fact: Fact) -> FactUnit | None:
        """The unit about a fact of `facts_of`; ``None`` if the fact is joined to another one."""
        number = self._unit_of.get(fact)
        if number is None:
            return self._add(fact, gold=False)
        found = self.units[number]
        return found if found.facts[0] == fact else None

    def facts_of(self, head: str) -> tuple[Fact, ...]:
        """All facts about an entity, in the order of the knowledge base, with the qualifiers that are verbalized."""
        if head not in self._of_head:
            relations = [statement for statement, direction in self.kb.relations(head) if direction == FORWARD]
            statements = [*self.kb.attributes(head), *relations]
            self._of_head[head] = tuple(dict.fromkeys(self._verbalized(statement) for statement in statements))
        return self._of_head[head]

    def _add(self, fact: Fact, *, gold: bool) -> FactUnit:
        facts = (fact, *self._joined(fact))
        number = len(self.units)
        unit = FactUnit(f"F{number:06d}", facts, self._verbalizer.sentence(facts), gold)
        self.units.append(unit)
        self._unit_of.update(dict.fromkeys(facts, number))
        return unit

    def _joined(self, fact: Fact) -> list[Fact]:
        """Zero to two free facts of the same head that share neither predicate nor value with each other or `fact`."""
        rng = Random(f"{self._seed}|join|{fact!r}")
        if rng.random() >= self._joined_probability:
            return []
        wanted = rng.choice((1, 2))
        free = [
            other
            for other in self.facts_of(fact.head)
            if other not in self._unit_of and meaning(other) not in self._reserved and other != fact
        ]
        chosen: list[Fact] = []
        # the predicate is sampled first, because otherwise a film's many actors would dominate
        predicates = sorted({other.predicate for other in free})
        rng.shuffle(predicates)
        for predicate in predicates:
            other = rng.choice([other for other in free if other.predicate == predicate])
            if not any(
                other.predicate == there.predicate or _values(other) & _values(there) for there in (fact, *chosen)
            ):
                chosen.append(other)
            if len(chosen) == wanted:
                break
        return chosen

    def _statement(self, fact: Fact) -> Statement | None:
        """The statement of the knowledge base that a program's fact was read from."""
        rows: Iterable[Statement]
        if fact.tail is None:
            rows = self.kb.attributes(fact.head)
        else:
            # a relation may be stored at only one of its ends; the tail is searched last, because it can be a country
            # with thousands of films
            rows = (row for end in (fact.head, fact.tail) for row, _ in self.kb.relations(end))
        for row in rows:
            same = (row.head, row.predicate, row.value, row.tail) == (fact.head, fact.predicate, fact.value, fact.tail)
            if same and all(value in row.qualifier(key) for key, value in fact.qualifiers):
                return row
        return None

    def _verbalized(self, statement: Statement) -> Fact:
        """The statement as a fact with every qualifier that some question uses, and others up to `MAX_QUALIFIERS`."""
        chosen = dict(self._used.get(statement, {}))
        for key, values in statement.qualifiers:
            if len(chosen) >= MAX_QUALIFIERS:
                break
            if values and not any(key == used for used, _ in chosen):
                chosen[key, values[0]] = None
        return statement.fact(tuple(chosen))


def _values(fact: Fact) -> set[str]:
    return {str(fact.value) if fact.tail is None else fact.tail, *(str(value) for _, value in fact.qualifiers)}


def facts_near(database: TextualDatabase, fact: Fact, weights: Mapping[str, int], rng: Random) -> list[Fact]:
    """Facts that share an end with a fact, in a random order that is weighted by predicate (arXiv:1012.0256).

    Those of an attribute are facts of its head with another predicate; those of a relation one of three, at random: the
    same; or of its head, with its predicate and another tail; or of another head, with its predicate and tail.
    """
    way = rng.choice(("other predicate", "other tail", "other head")) if fact.tail is not None else "other predicate"
    if way == "other predicate":
        near = [other for other in database.facts_of(fact.head) if other.predicate != fact.predicate]
    elif way == "other tail":
        near = [other for other in database.facts_of(fact.head) if other.predicate == fact.predicate]
    else:
        # a relation may be stored at its head alone
        rows = database.kb.relation_rows(fact.predicate, BACKWARD).get(fact.tail or "", ())
        near = list(database.facts_of(rng.choice(rows).head)) if rows else []
        near = [other for other in near if (other.predicate, other.tail) == (fact.predicate, fact.tail)]
    share = Counter(other.predicate for other in near)
    known = [other for other in near if weights.get(other.predicate) and meaning(other) != meaning(fact)]
    return sorted(known, key=lambda other: -(rng.random() ** (share[other.predicate] / weights[other.predicate])))


@dataclass(frozen=True)
class WholeDatabase:
    """Numbers of sentences: those of the dataset, and the others."""

    dataset: int
    others: int


def write_whole_database(options: DatabaseOptions) -> WholeDatabase:
    """Write ``facts.jsonl`` into a new folder: the dataset's sentences, then all other statements in order.

    Raises:
        DataError: the knowledge base or the dataset is damaged, the dataset has no statements or is of another
            knowledge base, or the folder exists.
    """
    with output_folder(options.out, overwrite=options.overwrite) as folder:
        print(f"reading {options.kqapro}", file=sys.stderr)
        kb = KnowledgeBase.load(options.kqapro / "kb.json", progress=True)
        records = list(read_facts(options.data, progress=True))
        if not any(record.facts for record in records):
            raise DataError(f"{options.data}/{FACTS_FILE}: has no statements, by which sentences are compared")
        _check_same(kb, records, options)
        count = 0
        with (folder / FACTS_FILE).open("w", encoding="utf-8") as out:
            with (options.data / FACTS_FILE).open(encoding="utf-8") as own:
                out.writelines(line if line.endswith("\n") else f"{line}\n" for line in own if line.strip())
            for unit in units_beside(kb, records, Verbalizer(kb, options.seed), progress=True):
                out.write(json.dumps(unit.to_json(kb), ensure_ascii=False) + "\n")
                count += 1
    return WholeDatabase(len(records), count)


def units_beside(
    kb: KnowledgeBase, records: Iterable[FactRecord], verbalizer: FactVerbalizer, *, progress: bool = False
) -> Iterator[FactUnit]:
    """A unit for every statement that the records do not state, in the order of the knowledge base."""
    stated = {meaning(fact) for record in records for fact in record.facts}
    database = TextualDatabase(kb, verbalizer, (), joined_probability=0.0, seed=0)
    number = 0
    for head in tqdm(kb.all_ids, desc="sentences", unit="entity", disable=not progress):
        for fact in database.facts_of(head):
            if meaning(fact) not in stated:
                stated.add(meaning(fact))
                yield FactUnit(f"W{number:06d}", (fact,), verbalizer.sentence((fact,)), gold=False)
                number += 1


def _check_same(kb: KnowledgeBase, records: Iterable[FactRecord], options: DatabaseOptions) -> None:
    for record in records:
        for node, name in record.names.items():
            if (other := kb.names_by_id.get(node)) != name:
                raise DataError(
                    f"{options.data}/{FACTS_FILE}: {repr_short(node)} is {repr_short(name)}, but {repr_short(other)} "
                    f"in {options.kqapro}; give the knowledge base of the dataset"
                )
