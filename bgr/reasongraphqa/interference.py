"""The target database of a question: its gold sentences among distractors of three kinds (paper, section 3.1.2).

One third each: (a) sentences most similar to the question, (b) other facts about the gold facts' head entities,
with another relation, (c) random sentences. Where one kind runs short the next ones fill in.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from random import Random

import faiss
import numpy as np

from bgr.kb.schema import Fact
from bgr.reasongraphqa.conflicts import GoldFacts
from bgr.reasongraphqa.grounding import Grounded
from bgr.reasongraphqa.textual_database import FactUnit, TextualDatabase

Encoder = Callable[[Sequence[str]], np.ndarray]

SIMILAR, SAME_HEAD, RANDOM = "similar", "same head", "random"
KINDS = (SIMILAR, SAME_HEAD, RANDOM)
NEIGHBOURS = 64
RANDOM_TRIES = 20


@dataclass
class Draft:
    """The candidates of one question while they are gathered; gold units come first, in the order of the graph's nodes.

    `wanted` is the number of candidates when all is done.
    """

    grounded: Grounded
    units: list[FactUnit]
    gold: GoldFacts
    wanted: int
    kinds: Counter[str] = field(default_factory=Counter)

    def __post_init__(self) -> None:
        self._sentences = {unit.sentence for unit in self.units}

    def add(self, unit: FactUnit, kind: str) -> bool:
        """Take a unit as a distractor if it may be one and its sentence is new."""
        if unit.sentence in self._sentences or not self.gold.allows(unit):
            return False
        self.units.append(unit)
        self._sentences.add(unit.sentence)
        self.kinds[kind] += 1
        return True


def shares(gold: int, candidates: int) -> dict[str, int]:
    """How many distractors of each kind: a third each, what is over goes to (b) and then (a), one each at least."""
    third, over = divmod(max(candidates - gold, len(KINDS)), len(KINDS))
    return {SIMILAR: third + (over > 1), SAME_HEAD: third + (over > 0), RANDOM: third}


class Interference:
    """Fills drafts with distractors: `same_head` for each first, since it adds to the database, then `fill` for all.

    Args:
        database: grows by what (b) words afresh.
        encoder: sentences to unit vectors; similarity is their inner product.
        seed: draws everything, question by question.
    """

    def __init__(self, database: TextualDatabase, encoder: Encoder, *, seed: int) -> None:
        self.database = database
        self.encoder = encoder
        self.seed = seed

    def draft(self, grounded: Grounded, candidates: int) -> Draft:
        """The gold units of a question, before any distractor."""
        units = [self.database.gold_unit(fact) for fact in grounded.facts]
        wanted = len(units) + max(candidates - len(units), len(KINDS))
        return Draft(grounded, units, GoldFacts(self.database.kb, grounded.facts, units), wanted)

    def same_head(self, draft: Draft) -> None:
        """Kind (b), up to its share."""
        rng = self._rng(draft, SAME_HEAD)
        facts = draft.grounded.facts
        count = shares(len(facts), draft.wanted)[SAME_HEAD]
        asked = {(fact.head, fact.predicate) for fact in facts}
        for fact in self._about(list(dict.fromkeys(fact.head for fact in facts)), rng):
            if draft.kinds[SAME_HEAD] >= count:
                return
            unit = None if (fact.head, fact.predicate) in asked else self.database.unit(fact)
            if unit is not None:
                draft.add(unit, SAME_HEAD)

    def fill(self, drafts: Sequence[Draft]) -> None:
        """Kinds (a) and (c), until each draft has as many candidates as it wants or nothing else fits."""
        if not drafts or not self.database.units:
            return
        neighbours = self._neighbours([draft.grounded.question.text for draft in drafts])
        for draft, row in zip(drafts, neighbours, strict=True):
            share = shares(len(draft.grounded.facts), draft.wanted)
            similar = share[SIMILAR] + share[SAME_HEAD] - draft.kinds[SAME_HEAD]
            for number in row:
                if draft.kinds[SIMILAR] >= similar:
                    break
                draft.add(self.database.units[number], SIMILAR)
            rng = self._rng(draft, RANDOM)
            for _ in range(RANDOM_TRIES * draft.wanted):
                if len(draft.units) >= draft.wanted:
                    break
                draft.add(rng.choice(self.database.units), RANDOM)

    def _neighbours(self, questions: Sequence[str]) -> list[list[int]]:
        """For each question the numbers of the units whose sentences are most similar, best first."""
        vectors = self.encoder([unit.sentence for unit in self.database.units])
        index = faiss.IndexFlatIP(vectors.shape[1])
        index.add(np.ascontiguousarray(vectors, dtype=np.float32))
        queries = np.ascontiguousarray(self.encoder(questions), dtype=np.float32)
        _, numbers = index.search(queries, min(NEIGHBOURS, len(vectors)))
        return [[int(number) for number in row] for row in numbers]

    def _about(self, entities: Sequence[str], rng: Random) -> Iterator[Fact]:
        """Facts about several entities in turn; of each entity one predicate after the other, in random order."""
        lists = [_by_predicate(self.database.facts_of(entity), rng) for entity in entities]
        for place in range(max(map(len, lists), default=0)):
            for facts in lists:
                if place < len(facts):
                    yield facts[place]

    def _rng(self, draft: Draft, kind: str) -> Random:
        return Random(f"{self.seed}|{kind}|{draft.grounded.question.id}")


def _by_predicate(facts: Sequence[Fact], rng: Random) -> list[Fact]:
    """A random order in which every predicate comes once before any comes twice."""
    groups: dict[str, list[Fact]] = {}
    for fact in rng.sample(facts, len(facts)):
        groups.setdefault(fact.predicate, []).append(fact)
    longest = max(map(len, groups.values()), default=0)
    return [group[place] for place in range(longest) for group in groups.values() if place < len(group)]
