"""Distractors of a question: three kinds of the paper (section 3.1.2) and two more.

(a) sentences most similar to the question, (b) other facts about the gold facts' head entities, with another relation,
(c) random sentences; (d) rival chains (see `rivals`), (e) the gold facts and rivals of other questions, so that what
belongs together among the candidates says nothing about what is gold. Each kind has its share of a `Mixture`. If there
are too few of one kind, another replaces it: (a) replaces (b), (e) replaces (d), and (c) replaces all.
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
from bgr.data.reasongraphqa.construction.rivals import RivalFinder
from bgr.data.reasongraphqa.construction.textual_database import FactUnit, TextualDatabase
from bgr.errors import DataError

Encoder = Callable[[Sequence[str]], np.ndarray]

SIMILAR, SAME_HEAD, RANDOM, RIVAL, OTHER = "similar", "same head", "random", "rival", "other question"
KINDS = (SIMILAR, SAME_HEAD, RANDOM, RIVAL, OTHER)
PAPER_KINDS = KINDS[:3]
MIN_DISTRACTORS = 3
ALL_REMOVED = 0.25
"""Share of the unanswerable questions that lose all needed facts instead of one."""
MAX_FIRST_RIVAL = 6
"""Maximum number of facts of a question's first rival, even if its share is smaller."""
MAX_RIVALS = 40
"""Maximum number of rivals that are tried for a question."""
MIN_NEIGHBORS = 64
"""Minimum number of similar sentences that are tried; at least `NEIGHBORS_PER_DISTRACTOR` times the wanted number."""
NEIGHBORS_PER_DISTRACTOR = 3
RANDOM_TRIES = 20


@dataclass(frozen=True)
class Mixture:
    """The share of each kind among the distractors of a question; their sum is 1.

    A share of 0 means none, except for (c), which replaces the others if there are too few of them.

    Raises:
        DataError: a share is negative or not a number, or the sum is not 1.
    """

    similar: float = 1 / 3
    same_head: float = 1 / 3
    random: float = 1 / 3
    rival: float = 0.0
    other: float = 0.0

    def __post_init__(self) -> None:
        shares = tuple(self.by_kind.values())
        # written so that nan fails too
        if not (min(shares) >= 0 and abs(sum(shares) - 1) <= 1e-6):
            text = " ".join(f"{share:g}" for share in shares)
            raise DataError(f"mixture {text}, allowed: shares of 0 or more that add up to 1")

    @property
    def by_kind(self) -> dict[str, float]:
        """The shares of the paper's kinds, and of the others that there are."""
        shares = zip(KINDS, (self.similar, self.same_head, self.random, self.rival, self.other), strict=True)
        return {kind: share for kind, share in shares if share or kind in PAPER_KINDS}


THIRDS = Mixture()
HARD = Mixture(0.45, 0.45, 0.1)
"""More distractors that look like evidence, fewer random ones."""


@dataclass
class Draft:
    """The candidates of a question while they are collected; gold units come first, in the order of the graph's nodes.

    `wanted` is the final number of candidates.
    """

    grounded: Grounded
    units: list[FactUnit]
    gold: GoldFacts
    wanted: int
    kinds: Counter[str] = field(default_factory=Counter)
    rivals: list[list[FactUnit]] = field(default_factory=list)
    answerable: bool = True

    def __post_init__(self) -> None:
        self.gold_units = tuple(self.units)
        self._sentences = {unit.sentence for unit in self.units}

    @property
    def predicates(self) -> frozenset[str]:
        """The predicates of the gold facts."""
        return frozenset(fact.predicate for fact in self.grounded.facts)

    def fits(self, unit: FactUnit) -> bool:
        """True if a unit may be added as a distractor: no conflict with the gold facts, and its sentence is new."""
        return unit.sentence not in self._sentences and self.gold.allows(unit)

    def add(self, unit: FactUnit, kind: str) -> bool:
        """Add a unit as a distractor if it fits."""
        if not self.fits(unit):
            return False
        self.units.append(unit)
        self._sentences.add(unit.sentence)
        self.kinds[kind] += 1
        return True


_TIES = (SAME_HEAD, SIMILAR, RANDOM, RIVAL, OTHER)


def shares(gold: int, candidates: int, mixture: Mixture = THIRDS) -> dict[str, int]:
    """The number of distractors of each kind (at least three in all), rounded to the right sum.

    The remainder goes to the kinds that lost most by rounding; among equals first to (b), then to (a).
    """
    count = max(candidates - gold, MIN_DISTRACTORS)
    exact = {kind: count * share for kind, share in mixture.by_kind.items()}
    found = {kind: math.floor(number) for kind, number in exact.items()}
    lost = {kind: round(exact[kind] - found[kind], 6) for kind in sorted(found, key=_TIES.index)}
    for kind in sorted(lost, key=lambda kind: -lost[kind])[: count - sum(found.values())]:
        found[kind] += 1
    return found


class Interference:
    """Adds distractors to drafts: first `same_head` for each, since it extends the database, then `fill` for all.

    Args:
        database: the textual database, to which (b) adds sentences.
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
        self.asked: Counter[str] = Counter()

    def draft(self, grounded: Grounded, candidates: int) -> Draft:
        """A draft with the gold units of a question, without distractors."""
        units = [self.database.gold_unit(fact) for fact in grounded.facts]
        self.asked.update(fact.predicate for fact in grounded.facts)
        wanted = len(units) + max(candidates - len(units), MIN_DISTRACTORS)
        return Draft(grounded, units, GoldFacts(self.database.kb.name, grounded.facts, units), wanted)

    def same_head(self, draft: Draft) -> None:
        """Add distractors of kind (b), up to their share."""
        rng = self._rng(draft, SAME_HEAD)
        gold = draft.grounded.facts
        count = self._share(draft)[SAME_HEAD]
        asked = {(fact.head, fact.predicate) for fact in gold}
        about = Counter(unit.facts[0].head for unit in draft.units)
        heads = list(about)
        if len(draft.units) > len(gold):
            # else gold facts would share their heads more often than others
            rng.shuffle(heads)
            heads.sort(key=lambda head: about[head] > 1)
            lists = [_by_weight(self.database.facts_of(head), self.asked, rng) for head in heads]
        else:
            lists = [_by_predicate(self.database.facts_of(head), rng) for head in heads]
        # the entities in turn
        for fact in (fact for row in zip_longest(*lists) for fact in row if fact is not None):
            if draft.kinds[SAME_HEAD] >= count:
                return
            unit = None if (fact.head, fact.predicate) in asked else self.database.unit(fact)
            if unit is not None:
                draft.add(unit, SAME_HEAD)

    def add_rivals(self, draft: Draft, finder: RivalFinder) -> None:
        """Add distractors of kind (d), whole rivals as far as they fit into their share.

        The first may be larger than the share, since without a rival a constraint has nothing to be compared with.
        """
        count = self._share(draft).get(RIVAL, 0)
        if not count:
            return
        for rival in islice(finder.find(draft.grounded.question.program, self._rng(draft, RIVAL)), MAX_RIVALS):
            units = [self.database.unit_with(fact) for fact in rival.facts]
            new = [unit for unit in units if draft.fits(unit)]
            if draft.kinds[RIVAL] + len(new) > (count if draft.kinds[RIVAL] else max(count, MAX_FIRST_RIVAL)):
                continue
            draft.rivals.append([unit for unit in new if draft.add(unit, RIVAL)])
            if draft.kinds[RIVAL] >= count:
                return

    def add_others(self, draft: Draft, drafts: Sequence[Draft], alike: Sequence[Draft]) -> None:
        """Add distractors of kind (e): of one question after the other the gold facts, then some of its rivals.

        Half of the questions are from `alike`, those with the same predicates, so that the most frequent predicates of
        the candidates are not those of the gold facts.
        """
        share = self._share(draft)
        wanted = share[OTHER] + share.get(RIVAL, 0) - draft.kinds[RIVAL] if OTHER in share else 0
        rng = self._rng(draft, OTHER)
        for _ in range(RANDOM_TRIES):
            room = wanted - draft.kinds[OTHER]
            if room <= 0:
                return
            other = rng.choice(alike if rng.random() < 0.5 else drafts)
            # as many facts of rivals for each gold fact as the question itself has, and of whole rivals
            count = math.ceil(len(other.gold_units) * draft.kinds[RIVAL] / max(1, len(draft.gold_units)))
            group = list(other.gold_units)
            for rival in rng.sample(other.rivals, len(other.rivals)):
                if len(group) < len(other.gold_units) + count:
                    group += rival
            for unit in group[:room]:
                draft.add(unit, OTHER)

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
                draft.answerable = False
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


def _by_weight(facts: Sequence[Fact], weights: Mapping[str, int], rng: Random) -> list[Fact]:
    """The facts in a random order, weighted by how often questions need their predicate (arXiv:1012.0256).

    A predicate that no question needs would give a distractor away.
    """
    share = Counter(fact.predicate for fact in facts)
    known = [fact for fact in facts if weights.get(fact.predicate)]
    return sorted(known, key=lambda fact: -(rng.random() ** (share[fact.predicate] / weights[fact.predicate])))
