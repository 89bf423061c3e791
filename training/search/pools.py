"""The candidates of training questions that a pruner chooses from, and the questions that have no answer in them."""

from __future__ import annotations

import random
from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from bgr.data.example import Example
from bgr.data.reasongraphqa.candidate_sets import CandidateSets
from bgr.graph.evidence_graph import EvidenceGraph
from training.questions.unanswerable import OtherQuestion, about_something_else, can_withhold, withheld

OWN_POOLS = 0.8
"""How often a question that was searched for has its own pool in training."""

FEW = 6
"""Maximum number of candidates that are no evidence, of a question among few."""


class Drawn(NamedTuple):
    """Questions as they are asked, the candidates of each, its own ones first, and the number of candidates that the
    graph model sees; 0 for its own limit."""

    asked: list[Example]
    pools: list[list[str]]
    most: int


@dataclass(frozen=True)
class Pools:
    """Pools of candidates for training questions. What is a pair has its share of the questions of an epoch.

    Args:
        size: number of candidates.
        most: maximum number of those that the graph model sees; 0 for its own limit.
        facts: facts that were tokenized.
        near: facts that are near in structure or by their words.
        not_near: questions whose facts have no statements, so that what is near them may be what is asked for.
        same_things: by question, facts about the same things.
        searched: by question, the first texts of its search over a collection.
        few: share of the questions that have their gold facts and up to `FEW` others of their own, and no strangers.
        withheld: share of the questions from which a gold fact is withheld.
        foreign: by question, the same one with a word of which the data know nothing.
        other: by question, one about the same thing that the data never answer.
    """

    size: int
    most: int
    facts: Container[str]
    near: tuple[CandidateSets | None, float]
    not_near: Container[str]
    same_things: tuple[Mapping[str, list[str]], float]
    searched: Mapping[str, list[str]]
    few: float
    withheld: float
    foreign: tuple[Mapping[str, str], float]
    other: tuple[Mapping[str, OtherQuestion], float]

    def draw(self, examples: Sequence[Example], draw: random.Random) -> Drawn:
        """Each question with its own candidates first, then facts of other questions.

        One that is near its gold facts is none of them, nor as good, also if one of them is withheld. A question whose
        missing evidence is not known gets random ones, since a near one may be what is missing."""
        others = list(dict.fromkeys(fact for example in examples for fact in example.facts))
        asked, pools, ranked = [], [], []
        for example in examples:
            ranked.append(example.id in self.searched and draw.random() < OWN_POOLS)
            changed = self._asked(only_gold(example) if ranked[-1] else example, example, draw)
            if self.few and changed.facts and draw.random() < self.few:
                asked.append(among_few(changed, draw))
                pools.append(list(asked[-1].facts))
                continue
            strangers = self._strangers(example, others, ranked[-1], draw)
            # a withheld fact does not return
            own = () if ranked[-1] else set(example.facts)
            asked.append(changed)
            pools.append([*changed.facts, *(fact for fact in strangers if fact not in own)])
        most = draw.randint(max(1, self.most // 3), self.most) if self.most else 0
        # what a search found has been ordered; of the others the pruner takes the best
        sizes = [
            max(most, len(one.graph.nodes)) if searched else self.size
            for one, searched in zip(asked, ranked, strict=True)
        ]
        cut = [pool[: max(size, len(one.facts))] for one, pool, size in zip(asked, pools, sizes, strict=True)]
        return Drawn(asked, cut, most)

    def _asked(self, example: Example, whole: Example, draw: random.Random) -> Example:
        """The question, sometimes without an answer."""
        (foreign, foreign_share), (other, other_share) = self.foreign, self.other
        if draw.random() < self.withheld and can_withhold(example):
            return withheld(example, draw)
        if foreign_share and draw.random() < foreign_share:
            return about_something_else(example, foreign) or example
        if whole.id in other and draw.random() < other_share:
            return replace(example, question=other[whole.id].question, graph=EvidenceGraph(()), missing="all")
        return example

    def _strangers(self, example: Example, others: Sequence[str], ranked: bool, draw: random.Random) -> list[str]:
        """The further candidates of a question."""
        (sets, hard), (same_things, beside) = self.near, self.same_things
        if ranked:
            strangers = self.searched[example.id]
        elif sets is not None and example.answerable and example.id not in self.not_near and draw.random() < hard:
            near = sets.additions(example, draw.choice(("bm25", "rivals")), self.size)
            strangers = [fact for fact in near if fact in self.facts]
        else:
            strangers = draw.sample(others, min(len(others), self.size))
        if example.id in same_things and draw.random() < beside:
            strangers = list(dict.fromkeys([*same_things[example.id], *strangers]))
        return strangers


def only_gold(example: Example) -> Example:
    """The same question with its gold facts as its only candidates."""
    return fewer_candidates(example, 0, "")


def among_few(example: Example, draw: random.Random) -> Example:
    """The same question with its gold facts and at most `FEW` others as candidates; at least one without gold facts."""
    gold = len(example.graph.nodes)
    return fewer_candidates(example, gold + draw.randint(0 if gold else 1, FEW), str(draw.random()))


def fewer_candidates(example: Example, count: int, seed: str) -> Example:
    """The same question with at most `count` candidates: all gold facts and a random sample of others, in order."""
    gold = example.graph.nodes
    others = sorted(set(range(len(example.facts))) - set(gold))
    room = max(0, min(count - len(gold), len(others)))
    kept = sorted([*gold, *random.Random(seed).sample(others, room)])
    indices = {fact: i for i, fact in enumerate(kept)}
    return replace(example, facts=tuple(example.facts[fact] for fact in kept), graph=example.graph.relabel(indices))
