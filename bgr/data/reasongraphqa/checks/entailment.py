"""Search for distractors of a finished dataset that entail a gold fact of their question; reads only the files.

A distractor must not state the triple of a gold fact (in either direction of a relation), nor its value with the same
head and key (in any unit), nor state it in a qualifier (see `conflicts`, which the construction uses too).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from bgr.data.example import Example
from bgr.data.kb.schema import Fact
from bgr.data.reasongraphqa.construction.conflicts import ENTAILMENTS, GoldFacts
from bgr.data.reasongraphqa.construction.textual_database import FactUnit
from bgr.data.reasongraphqa.io.fact_records import read_facts
from bgr.errors import DataError

ASKING = ("QueryAttrQualifier", "QueryRelationQualifier")
"""Functions whose last input is the key of the qualifier that the question asks for."""

MAX_EXAMPLES = 3


class FactTable:
    """The units of a textual database by their sentence, and the names of their nodes.

    Facts about entities with the same name may have equal sentences, so that a sentence can have several units.
    """

    def __init__(self, units: Iterable[FactUnit], names: Mapping[str, str]) -> None:
        self.names = names
        self._units: dict[str, tuple[FactUnit, ...]] = {}
        for unit in units:
            self._units[unit.sentence] = (*self._units.get(unit.sentence, ()), unit)

    @classmethod
    def read(cls, folder: str | Path, *, progress: bool = False) -> FactTable:
        """Read a dataset's ``facts.jsonl``; `progress` shows a bar on standard error.

        Raises:
            DataError: no such file, or an invalid line; the message names file and line.
        """
        names: dict[str, str] = {}
        units = []
        for record in read_facts(folder, progress=progress):
            names.update(record.names)
            units.append(FactUnit(record.id, record.facts, record.sentence, record.gold))
        return cls(units, names)

    def __len__(self) -> int:
        return sum(map(len, self._units.values()))

    def units(self, example: Example, number: int) -> tuple[FactUnit, ...]:
        """The units of a sample's candidate.

        Raises:
            DataError: the candidate's sentence is not in the textual database.
        """
        found = self._units.get(example.facts[number])
        if found is None:
            raise DataError(
                f"sample {example.id!r}: candidate {number} is not in the textual database: {example.facts[number]!r}"
            )
        return found


@dataclass(frozen=True)
class Entailed:
    """A distractor that entails a gold fact, in the way `how`, one of `conflicts.ENTAILMENTS`."""

    sample: str
    distractor: str
    gold: str
    how: str

    def __str__(self) -> str:
        return f"sample {self.sample!r}: {self.distractor!r} beside the gold fact {self.gold!r} ({self.how})"


@dataclass(frozen=True)
class Entailments:
    """Result of `find_entailments`: counts by kind, and the first few examples.

    `unknown` is the number of distractors without triples (in the authors' release), which cannot be checked.
    """

    distractors: int
    unknown: int
    counts: Mapping[str, int]
    examples: tuple[Entailed, ...]

    @property
    def total(self) -> int:
        return sum(self.counts.values())

    def to_json(self) -> dict[str, Any]:
        return {
            "distractors": self.distractors,
            "unknown": self.unknown,
            "entailing": {"total": self.total, **self.counts},
            "examples": [asdict(example) for example in self.examples],
        }


def find_entailments(examples: Iterable[Example], table: FactTable) -> Entailments:
    """Compare every distractor of every sample with the sample's gold facts.

    Args:
        examples: the samples.
        table: their textual database.

    Raises:
        DataError: a candidate is not in the textual database; the message names the sample.
    """
    counts = dict.fromkeys(ENTAILMENTS, 0)
    seen: Counter[str] = Counter()
    shown: list[Entailed] = []
    for example in examples:
        gold = {node: table.units(example, node) for node in example.graph.nodes}
        gold_facts = _gold_facts(example, gold, table)
        for number in (number for number in range(len(example.facts)) if number not in gold):
            units = table.units(example, number)
            seen["distractors"] += 1
            seen["unknown"] += not any(unit.facts for unit in units)
            unit, how = next(((unit, how) for unit in units if (how := gold_facts.entailment(unit))), (None, None))
            if unit is None or how is None:
                continue
            counts[how] += 1
            if len(shown) < MAX_EXAMPLES:
                # the gold fact that it entails
                entailed = next(n for n in gold if _gold_facts(example, {n: gold[n]}, table).entailment(unit))
                shown.append(Entailed(example.id, unit.sentence, example.facts[entailed], how))
    return Entailments(seen["distractors"], seen["unknown"], counts, tuple(shown))


def _gold_facts(example: Example, units: Mapping[int, Sequence[FactUnit]], table: FactTable) -> GoldFacts:
    """The gold facts of a sample; `units` are the units of each node's sentence."""
    facts = [
        _as_used(unit.facts[0], _asked(example, node)) for node, found in units.items() for unit in found if unit.facts
    ]
    return GoldFacts(table.names.__getitem__, facts, [unit for found in units.values() for unit in found])


def _asked(example: Example, node: int) -> str | None:
    """The qualifier of a gold fact that the question asks for: that of the program's last step, for the last facts.

    A qualifier that the program only filters by does not count, because the files do not say which facts it is from.
    """
    last = example.program[-1] if example.program else {}
    inputs = last.get("inputs") if last.get("function") in ASKING and node in example.graph.leaves else None
    return inputs[-1] if inputs else None


def _as_used(fact: Fact, asked: str | None) -> Fact:
    qualifiers = tuple((key, value) for key, value in fact.qualifiers if key == asked)
    return Fact(fact.head, fact.predicate, fact.value, fact.tail, qualifiers)
