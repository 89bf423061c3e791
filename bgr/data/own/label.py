"""The evidence graph of each question: as given, linked by names, guessed from the answer, or found by a teacher."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from bgr.data.own.links import Linker, guess_chain, linked
from bgr.data.own.schema import OwnQuestion
from bgr.data.reasongraphqa.construction.questions import MAX_FACTS
from bgr.graph.evidence_graph import ROOT, EvidenceGraph
from bgr.metrics.answers import answer_em, answer_match
from bgr.utils.progress import progress_bar


class Asked(NamedTuple):
    """A question to a teacher; without facts it searches the collection."""

    question: str
    facts: tuple[str, ...] | None


@dataclass(frozen=True)
class Taught:
    """What a teacher found: the candidates that it read, its graph over them, its answer, and the agreement of its two
    directions, in [0, 1]."""

    facts: tuple[str, ...]
    graph: EvidenceGraph
    answer: str | None
    agreement: float


GIVEN = ("graph", "unanswerable")
"""Levels whose lines say all of the evidence."""

Teacher = Callable[[Sequence[Asked]], list[Taught]]

NOTHING_FOUND = "the teacher found no evidence"
OTHER_ANSWER = "the teacher gives another answer"
DISAGREES = "the directions of the teacher disagree"
TOO_MANY = f"the teacher found more than {MAX_FACTS} facts"


@dataclass(frozen=True)
class Labelled:
    """A question with its graph over `facts`, which are its candidates; the graph is `inferred` unless the line gives
    it, whole or as empty."""

    question: OwnQuestion
    facts: tuple[str, ...]
    graph: EvidenceGraph
    inferred: bool


@dataclass
class Labels:
    """All questions that have a graph, in order, and what happened.

    Args:
        how: number of graphs by their origin.
        dropped: reason to the ids of the questions left out.
    """

    found: list[Labelled] = field(default_factory=list)
    how: Counter[str] = field(default_factory=Counter)
    dropped: dict[str, list[str]] = field(default_factory=dict)

    def keep(self, question: OwnQuestion, facts: tuple[str, ...], graph: EvidenceGraph, how: str) -> None:
        self.found.append(Labelled(question, facts, graph, question.level not in GIVEN))
        self.how[how] += 1

    def drop(self, question: OwnQuestion, why: str) -> None:
        self.dropped.setdefault(why, []).append(question.id)


def label_questions(
    questions: Sequence[OwnQuestion],
    pool_of: Callable[[OwnQuestion], tuple[str, ...]],
    *,
    teacher: Teacher | None = None,
    agreement: float = 0.5,
    progress: bool = False,
) -> Labels:
    """Give each question its graph.

    Args:
        pool_of: the candidates among which the evidence of an answer is guessed.
        teacher: labels the questions that have an answer alone; only what passes the filter counts.
        agreement: lower limit of the agreement of a teacher's directions.
    """
    labels = Labels()
    alone = [one for one in questions if one.level == "answer"]
    pools = {one.id: pool_of(one) for one in alone if not (teacher and one.is_open)}
    taught: dict[str, Taught] = {}
    if teacher is not None and alone:
        asked = [Asked(one.question, None if one.is_open else one.facts) for one in alone]
        taught = {one.id: found for one, found in zip(alone, teacher(asked), strict=True)}
    linker = Linker(fact for one in questions for fact in pools.get(one.id, one.facts))
    with progress_bar(len(questions), "graphs", "question", show=progress) as bar:
        for one in questions:
            if one.level == "unanswerable":
                labels.keep(one, one.facts, EvidenceGraph(), "no evidence, as given")
            elif one.graph is not None:
                labels.keep(one, one.facts, one.graph, "graph, as given")
            elif one.level == "evidence":
                _link(one, linker, labels)
            elif teacher is not None:
                _learn(one, taught[one.id], agreement, labels)
            else:
                _guess(one, pools[one.id], linker, labels)
            bar.update()
    return labels


def _link(one: OwnQuestion, linker: Linker, labels: Labels) -> None:
    found = linked(one.question, [one.facts[number] for number in one.evidence], one.answer, linker)
    labels.keep(one, one.facts, found.graph.relabel(dict(enumerate(one.evidence))), "evidence, linked by shared names")
    labels.how["  of these, with links of equal weight"] += found.ties > 0
    labels.how["  of these, with a fact that shares no word"] += found.unlinked > 0


def _guess(one: OwnQuestion, pool: tuple[str, ...], linker: Linker, labels: Labels) -> None:
    chain = guess_chain(one.question, pool, one.answer, linker)
    if isinstance(chain, str):
        labels.drop(one, chain)
        return
    edges = zip((ROOT, *chain.facts), chain.facts, strict=False)
    labels.keep(one, pool, EvidenceGraph(edges), "answer, chain of shared names")
    labels.how["  of these, with chains of equal score"] += chain.tied


def _learn(one: OwnQuestion, taught: Taught, agreement: float, labels: Labels) -> None:
    same = answer_match(taught.answer, one.answer) or answer_em(taught.answer, [one.answer])
    if not taught.graph.nodes:
        labels.drop(one, NOTHING_FOUND)
    elif not same:
        labels.drop(one, OTHER_ANSWER)
    elif taught.agreement < agreement:
        labels.drop(one, DISAGREES)
    elif len(taught.graph.nodes) > MAX_FACTS:
        labels.drop(one, TOO_MANY)
    else:
        labels.keep(one, taught.facts, taught.graph, "answer, graph of the teacher")
