"""Questions with other numbers of candidates: distractors are removed, or facts of the textual database are added.

The gold facts always stay. An added fact neither repeats a candidate nor entails or contradicts a gold fact, by the
comparison of statements that the construction and `bgr data verify` use. There are three orders in which facts are
added (`FILLS`):

- ``random``: in random order;
- ``bm25``: by their BM25 score for the question, over the whole database;
- ``rivals``: by their nearness in structure. A fact is near a group of facts if it shares an entity and a predicate
  with them (nearest), an entity, or a predicate. First come the facts near the gold facts, then those near the other
  candidates, then the rest. Facts of equal nearness are in random order. Of a sentence that states several facts, the
  first counts, which is what the sentence is about.

All random choices depend only on the seed, the filling and the question. The facts of a smaller number are among those
of a larger one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import islice
from pathlib import Path
from random import Random

import numpy as np

from bgr.collection.bm25 import Bm25Search
from bgr.data.example import Example
from bgr.data.kb.schema import Fact
from bgr.data.reasongraphqa.checks.verify import FactTable, gold_facts
from bgr.data.reasongraphqa.construction.textual_database import FactUnit
from bgr.errors import DataError

FILLS = ("random", "bm25", "rivals")
SHARED_BOTH, SHARED_ENTITY, SHARED_PREDICATE, NEARNESSES = range(4)


def fair(example: Example, sentences: Iterable[str], table: FactTable) -> Iterator[str]:
    """Those of the sentences that may be added to the candidates of a question, in order: they are in the textual
    database, and neither candidates nor as good as a gold fact."""
    gold, own = gold_facts(example, example.graph.nodes, table), set(example.facts)
    for sentence in sentences:
        units = table.units_of(sentence)
        if sentence not in own and units and all(unit.facts and gold.allows(unit) for unit in units):
            yield sentence


def sentences_by(table: FactTable, keys: Callable[[Fact], Iterable[str]]) -> dict[str, list[int]]:
    """The numbers of the table's sentences by the keys of what they are about."""
    found: dict[str, list[int]] = {}
    for number, sentence in enumerate(table.sentences):
        for key in dict.fromkeys(key for fact in topics([table.units_of(sentence)]) for key in keys(fact)):
            found.setdefault(key, []).append(number)
    return found


def topics(sentences: Iterable[Sequence[FactUnit]]) -> list[Fact]:
    """The first fact of each unit of several sentences."""
    return [unit.facts[0] for units in sentences for unit in units if unit.facts]


def entities_of(fact: Fact) -> tuple[str, ...]:
    return (fact.head,) if fact.tail is None else (fact.head, fact.tail)


class CandidateSets:
    """Gives questions any number of candidates.

    Args:
        table: the textual database of the questions.
        seed: seed of all random choices.

    Raises:
        DataError: no fact of the table has statements, so that they cannot be compared with gold facts.
    """

    def __init__(self, table: FactTable, *, seed: int = 0) -> None:
        self.table, self.seed = table, seed
        self.sentences = table.sentences
        self._of_entity, self._of_predicate = (
            {key: np.array(rows) for key, rows in index.items()}
            for index in (sentences_by(table, entities_of), sentences_by(table, lambda fact: [fact.predicate]))
        )
        if not self._of_predicate:
            raise DataError("the facts have no statements, so that added facts cannot be compared with gold facts")
        self._bm25: Bm25Search | None = None

    @classmethod
    def read(cls, folder: Path, *, seed: int = 0, progress: bool = False) -> CandidateSets:
        """Read a dataset's textual database; DataError if it is missing, invalid or without statements."""
        table = FactTable.read(folder, progress=progress)
        try:
            return cls(table, seed=seed)
        except DataError as error:
            raise DataError(f"{folder}: {error}") from None

    def resized(self, example: Example, count: int, added: Sequence[str] = ()) -> Example:
        """The question with `count` candidates in random order, its gold facts among them.

        There are more if it has more gold facts, and fewer if `added` (see `additions`) is too short.
        """
        rng = Random(f"{self.seed}|keep|{example.id}")
        gold = example.graph.nodes
        others = sorted(set(range(len(example.facts))) - set(gold))
        rng.shuffle(others)
        kept = [*gold, *others[: max(0, count - len(gold))]]
        facts = [example.facts[number] for number in kept] + list(added[: max(0, count - len(example.facts))])
        order = list(range(len(facts)))
        rng.shuffle(order)
        place = {number: new for new, number in enumerate(order)}
        graph = example.graph.relabel({node: place[number] for number, node in enumerate(gold)})
        return replace(example, facts=tuple(facts[number] for number in order), graph=graph)

    def additions(self, example: Example, fill: str, count: int) -> list[str]:
        """The facts that bring a question to `count` candidates, in the order of the filling; fewer if no more fit.

        Raises:
            DataError: a candidate is not in the textual database.
        """
        return list(islice(self._fitting(example, fill), max(0, count - len(example.facts))))

    def _fitting(self, example: Example, fill: str) -> Iterator[str]:
        orders: Mapping[str, Callable[[Example, np.random.Generator], Iterable[int]]]
        orders = {"random": self._random, "bm25": self._by_words, "rivals": self._by_structure}
        rng = np.random.default_rng(Random(f"{self.seed}|{fill}|{example.id}").getrandbits(64))
        yield from fair(example, (self.sentences[number] for number in orders[fill](example, rng)), self.table)

    def _random(self, _: Example, rng: np.random.Generator) -> Iterable[int]:
        return rng.permutation(len(self.sentences)).tolist()

    def _by_words(self, example: Example, _: np.random.Generator) -> Iterable[int]:
        if self._bm25 is None:
            self._bm25 = Bm25Search(self.sentences)
        return _descending(self._bm25.scores(example.question))

    def _by_structure(self, example: Example, rng: np.random.Generator) -> Iterator[int]:
        distance = np.full(len(self.sentences), 2 * NEARNESSES, dtype=np.int8)
        for start, numbers in ((NEARNESSES, range(len(example.facts))), (0, example.graph.nodes)):
            facts = topics(self.table.units(example, number) for number in numbers)
            sharing = self._having(self._of_entity, (entity for fact in facts for entity in entities_of(fact)))
            alike = self._having(self._of_predicate, (fact.predicate for fact in facts))
            for group, rank in ((alike, SHARED_PREDICATE), (sharing, SHARED_ENTITY), (sharing & alike, SHARED_BOTH)):
                distance[group] = np.minimum(distance[group], start + rank)
        for value in range(2 * NEARNESSES + 1):
            yield from map(int, rng.permutation(np.flatnonzero(distance == value)))

    def _having(self, index: Mapping[str, np.ndarray], keys: Iterable[str]) -> np.ndarray:
        """Whether each sentence has one of the keys."""
        found = np.zeros(len(self.sentences), dtype=bool)
        for key in set(keys) & index.keys():
            found[index[key]] = True
        return found


def _descending(scores: np.ndarray, first: int = 512) -> Iterator[int]:
    """Indices by decreasing score, of equal ones the smallest first. The `first` are found without sorting the others,
    of which hardly any is read."""
    least = np.partition(scores, -first)[-first] if len(scores) > first else -np.inf
    for group in (np.flatnonzero(scores >= least), np.flatnonzero(scores < least)):
        yield from map(int, group[np.argsort(-scores[group], kind="stable")])
