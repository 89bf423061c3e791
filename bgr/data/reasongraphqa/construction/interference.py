"""Distractors of a question: three kinds of the paper (section 3.1.2) and two more.

(a) sentences most similar to the question, (b) other facts about the gold facts' head entities, with another relation,
(c) random sentences; (d) rivals of the question (see `rivals`), (e) the gold facts and rivals of other questions. Each
kind has its share of a `Mixture`. If there are too few of one kind, another replaces it: (a) replaces (b), (e) replaces
(d), and (c) replaces all.

With (e), the candidates are several *families*: the gold facts of a question with its rivals, all of the same
proportion, so that nothing but the question tells which family is its own. (b) are then facts near any candidate.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice, zip_longest
from random import Random

import numpy as np
from tqdm import tqdm

from bgr.collection.vectors import nearest
from bgr.data.kb.schema import Fact
from bgr.data.reasongraphqa.construction.candidate_base import CandidateBase
from bgr.data.reasongraphqa.construction.conflicts import GoldFacts
from bgr.data.reasongraphqa.construction.questions import Grounded
from bgr.data.reasongraphqa.construction.recipe import (
    MIN_DISTRACTORS,
    OTHER,
    RANDOM,
    RIVAL,
    SAME_HEAD,
    SIMILAR,
    THIRDS,
    Mixture,
    shares,
)
from bgr.data.reasongraphqa.construction.rivals import RivalFinder
from bgr.data.reasongraphqa.construction.textual_database import FactUnit, TextualDatabase, facts_near

Encoder = Callable[[Sequence[str]], np.ndarray]

ALL_REMOVED = 0.25
"""Share of the unanswerable questions that lose all needed facts instead of one."""
RIVAL_FACTS = 1.5
"""Maximum number of facts of rivals for each gold fact."""
MAX_FIRST_RIVAL = 6
"""Maximum number of facts of a question's first rival, even if its share is smaller."""
MAX_RIVALS = 16
"""Maximum number of rivals that are tried for a question."""
MIN_NEIGHBORS = 64
"""Minimum number of similar sentences that are tried; at least `NEIGHBORS_PER_DISTRACTOR` times the wanted number."""
NEIGHBORS_PER_DISTRACTOR = 3
RANDOM_TRIES = 20
OTHER_TRIES = 40
"""Maximum number of pairs of other questions that are tried for a question."""


@dataclass
class Draft:
    """The candidates of a question while they are collected; gold units come first, in the order of the graph's nodes.

    `wanted` is the final number of candidates; `rivals` are found for the question, without its gold units. No
    distractor is about an entity of `held_out`. `missing` tells which gold units were removed (`Example.missing`).
    """

    grounded: Grounded
    units: list[FactUnit]
    gold: GoldFacts
    wanted: int
    held_out: frozenset[str] = frozenset()
    kinds: Counter[str] = field(default_factory=Counter)
    rivals: list[list[FactUnit]] = field(default_factory=list)
    missing: str | None = None

    def __post_init__(self) -> None:
        self.gold_units = tuple(self.units)
        self._sentences = {unit.sentence for unit in self.units}

    @property
    def answerable(self) -> bool:
        """True if no gold unit was removed."""
        return self.missing is None

    @property
    def predicates(self) -> frozenset[str]:
        """The predicates of the gold facts."""
        return frozenset(fact.predicate for fact in self.grounded.facts)

    def has(self, unit: FactUnit) -> bool:
        """True if the unit, or one with an equal sentence, is a candidate."""
        return unit.sentence in self._sentences

    def fits(self, unit: FactUnit) -> bool:
        """True if a unit may be added as a distractor: its sentence is new, it is not about an entity that is held out,
        and it does not conflict with the gold facts."""
        return not self.has(unit) and unit.facts[0].head not in self.held_out and self.gold.allows(unit)

    def add(self, unit: FactUnit, kind: str) -> bool:
        """Add a unit as a distractor if it fits."""
        if not self.fits(unit):
            return False
        self.units.append(unit)
        self._sentences.add(unit.sentence)
        self.kinds[kind] += 1
        return True


class Interference:
    """Adds distractors to drafts, in this order: `add_rivals` to each, `add_others` to all, `same_head` to each, and
    `fill` to all, which needs the whole database, since the steps before it add sentences.

    Args:
        database: the textual database, to which (b) and (d) add sentences.
        encoder: sentences to unit vectors; similarity is their inner product.
        seed: seed of all random choices, which are independent for each question.
    """

    def __init__(
        self,
        database: TextualDatabase,
        encoder: Encoder,
        *,
        seed: int,
        mixture: Mixture = THIRDS,
        progress: bool = False,
    ) -> None:
        self.database = database
        self.encoder = encoder
        self.seed = seed
        self.mixture = mixture
        self.progress = progress

    def draft(self, grounded: Grounded, candidates: int, held_out: frozenset[str] = frozenset()) -> Draft:
        """A draft with the gold units of a question, without distractors, which are never about `held_out`."""
        units = [self.database.gold_unit(fact) for fact in grounded.facts]
        wanted = len(units) + max(candidates - len(units), MIN_DISTRACTORS)
        gold = GoldFacts(self.database.kb.name, grounded.facts, units)
        return Draft(grounded, units, gold, wanted, held_out)

    def same_head(self, draft: Draft) -> None:
        """Add distractors of kind (b), up to their share."""
        if self.mixture.other:
            self._add_near(draft)
            return
        rng = self._rng(draft, SAME_HEAD)
        gold = draft.grounded.facts
        count = self._share(draft)[SAME_HEAD]
        asked = {(fact.head, fact.predicate) for fact in gold}
        heads = dict.fromkeys(unit.facts[0].head for unit in draft.units)
        lists = [_by_predicate(self.database.facts_of(head), rng) for head in heads]
        # the entities in turn
        for fact in (fact for row in zip_longest(*lists) for fact in row if fact is not None):
            if draft.kinds[SAME_HEAD] >= count:
                return
            unit = None if (fact.head, fact.predicate) in asked else self.database.unit(fact)
            if unit is not None:
                draft.add(unit, SAME_HEAD)

    def _add_near(self, draft: Draft) -> None:
        """Add facts near random candidates, gold or not."""
        rng = self._rng(draft, SAME_HEAD)
        count = self._share(draft)[SAME_HEAD]
        candidates = tuple(draft.units)
        # predicates as frequent as among the candidates: one that no other has would give a distractor away
        weights = Counter(unit.facts[0].predicate for unit in candidates)
        for _ in range(RANDOM_TRIES * count):
            if draft.kinds[SAME_HEAD] >= count:
                return
            near = facts_near(self.database, rng.choice(candidates).facts[0], weights, rng)
            unit = self.database.unit(near[0]) if near else None
            if unit is not None:
                draft.add(unit, SAME_HEAD)

    def add_rivals(self, draft: Draft, finder: RivalFinder) -> None:
        """Find the rivals of a question, and add distractors of kind (d): whole rivals, as far as they fit.

        The first may be larger than the share: without a rival a constraint has nothing to be compared with.
        """
        if not self.mixture.rival:
            return
        most, found = math.ceil(RIVAL_FACTS * len(draft.gold_units)), 0
        known = {fact.statement for unit in draft.gold_units for fact in unit.facts}
        for rival in islice(finder.find(draft.grounded.question.program, self._rng(draft, RIVAL)), MAX_RIVALS):
            if found >= most:
                break
            new = [fact for fact in rival.facts if fact.statement not in known]
            if not new or found + len(new) > (most if found else max(most, MAX_FIRST_RIVAL)):
                continue
            units = list(dict.fromkeys(map(self.database.unit_with, new)))
            if all(map(draft.fits, units)):
                draft.rivals.append(units)
                known.update(fact.statement for unit in units for fact in unit.facts)
                found += len(units)
        self._add_family(draft, draft, draft.wanted, RIVAL)

    def add_others(self, drafts: Sequence[Draft]) -> None:
        """Add distractors of kind (e) to drafts whose rivals are found: of one question after the other the gold facts
        and rivals.

        The question of a draft and each other question is followed by one with the same predicates, so that the most
        frequent predicates of the candidates are not those of the gold facts.
        """
        if not self.mixture.other:
            return
        alike: dict[frozenset[str], list[Draft]] = {}
        for draft in drafts:
            alike.setdefault(draft.predicates, []).append(draft)
        for draft in drafts:
            self._add_others(draft, drafts, alike)

    def _add_others(
        self, draft: Draft, drafts: Sequence[Draft], alike: Mapping[frozenset[str], Sequence[Draft]]
    ) -> None:
        rng = self._rng(draft, OTHER)
        room = draft.wanted - self._share(draft)[SAME_HEAD]
        leader = draft
        for _ in range(OTHER_TRIES):
            for other in (leader, rng.choice(alike[leader.predicates])):
                self._add_family(draft, other, room, OTHER)
            if len(draft.units) >= room:
                return
            leader = rng.choice(drafts)

    def _add_family(self, draft: Draft, other: Draft, room: int, kind: str) -> None:
        """Add the gold facts of a question, unless one does not fit, and then those of its rivals that fit whole."""
        for group in (other.gold_units, *self._rivals_of(other, draft)):
            new = [unit for unit in group if not draft.has(unit)]
            if len(draft.units) + len(new) <= room and all(map(draft.fits, new)):
                for unit in new:
                    draft.add(unit, kind)
            elif group is other.gold_units:
                return

    def _rivals_of(self, other: Draft, draft: Draft) -> list[list[FactUnit]]:
        """The first rivals of a question, at least one, in the same proportion to its gold facts as in the draft."""
        ratio = min(RIVAL_FACTS, self._share(draft)[RIVAL] / len(draft.gold_units))
        left = math.ceil(ratio * len(other.gold_units))
        chosen: list[list[FactUnit]] = []
        for rival in other.rivals:
            if not chosen or len(rival) <= left:
                chosen.append(rival)
                left -= len(rival)
        return chosen

    def remove_evidence(self, draft: Draft, drafts: Sequence[Draft], base: CandidateBase) -> None:
        """Remove a needed fact from a draft, or all of them, and replace them by distractors of kind (e).

        The program, executed over the statements of the candidates that are left, then gives no answer. Of a count or
        a largest value all needed facts are removed, because a part of them gives another answer. The question stays
        answerable if nothing proves that it is not.
        """
        rng = self._rng(draft, "removed")
        gold = draft.gold_units
        order = rng.sample(gold, len(gold))
        attempts = [gold] if rng.random() < ALL_REMOVED else [*([unit] for unit in order), gold]
        program = draft.grounded.question.program
        for removed in attempts:
            left = [unit for unit in draft.units if unit not in removed]
            if base.answer(program, (fact for unit in left for fact in unit.facts)) is None:
                draft.missing = "all" if len(removed) == len(gold) else "one"
                count, draft.units = len(draft.units), left
                for _ in range(RANDOM_TRIES * len(removed)):
                    if len(draft.units) == count:
                        break
                    draft.add(rng.choice(rng.choice(drafts).units), OTHER)
                return

    def fill(self, drafts: Sequence[Draft]) -> None:
        """Add distractors of kinds (a) and (c), until each draft has the wanted candidates or no other unit fits."""
        if not drafts or not self.database.units:
            return
        wanted = []  # of kind (a): its share, and what (b) lacks; 0 if the mixture has none
        for draft in drafts:
            share = self._share(draft)
            lacking = share[SAME_HEAD] - draft.kinds[SAME_HEAD]
            wanted.append(share[SIMILAR] + lacking if self.mixture.similar else 0)
        neighbors = self._neighbors([draft.grounded.question.text for draft in drafts], max(wanted))
        rows = tqdm(neighbors, desc="distractors", unit="question", disable=not self.progress)
        for draft, similar, row in zip(drafts, wanted, rows, strict=True):
            for number in row:
                if draft.kinds[SIMILAR] >= similar:
                    break
                draft.add(self.database.units[number], SIMILAR)
            rng = self._rng(draft, RANDOM)
            for _ in range(RANDOM_TRIES * draft.wanted):
                if len(draft.units) >= draft.wanted:
                    break
                draft.add(rng.choice(self.database.units), RANDOM)

    def _share(self, draft: Draft) -> dict[str, int]:
        return shares(len(draft.grounded.facts), draft.wanted, self.mixture)

    def _neighbors(self, questions: Sequence[str], wanted: int) -> np.ndarray:
        """For each question the numbers of the units with the most similar sentences, best first: ``[q, n]``.

        `n` is large enough that `wanted` of them usually fit, and 0 if `wanted` is 0.
        """
        if not wanted:
            return np.empty((len(questions), 0), dtype=np.int64)
        vectors = self.encoder([unit.sentence for unit in self.database.units])
        queries = self.encoder(questions)
        return nearest(queries, vectors, max(MIN_NEIGHBORS, NEIGHBORS_PER_DISTRACTOR * wanted), progress=self.progress)

    def _rng(self, draft: Draft, kind: str) -> Random:
        return Random(f"{self.seed}|{kind}|{draft.grounded.question.id}")


def _by_predicate(facts: Sequence[Fact], rng: Random) -> list[Fact]:
    """The facts in a random order in which every predicate comes once before any comes twice."""
    groups: dict[str, list[Fact]] = {}
    for fact in rng.sample(facts, len(facts)):
        groups.setdefault(fact.predicate, []).append(fact)
    return [fact for row in zip_longest(*groups.values()) for fact in row if fact is not None]
