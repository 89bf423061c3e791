"""The candidates of a question that names none: its evidence, near texts of the collection, and random ones; on request
without a fact of the evidence, so that the others do not answer the question.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace
from random import Random

from bgr.collection.bm25 import ScoredSearch
from bgr.collection.corpus import Corpus
from bgr.data.example import Example
from bgr.data.own.label import Labelled
from bgr.data.own.links import holds
from bgr.graph.evidence_graph import EvidenceGraph

NEAR = 0.5
"""Share of the distractors that are near to the question by their words; the others are random."""

POOL_BY_QUESTION, POOL_BY_ANSWER = 100, 20
"""Texts of a collection among which the evidence of an answer is guessed, by the words of the question and of the
answer."""


class Candidates:
    """Texts of a collection for its questions.

    Args:
        corpus: the texts.
        search: BM25 over them.
        seed: seed of the random texts.
    """

    def __init__(self, corpus: Corpus, search: ScoredSearch, seed: int) -> None:
        self.corpus, self.search, self.seed = corpus, search, seed

    def pool(self, question: str, answer: str) -> tuple[str, ...]:
        """Texts near the question, then those near the answer, each once."""
        near = [*self._near(question, POOL_BY_QUESTION), *self._near(answer, POOL_BY_ANSWER)]
        return tuple(dict.fromkeys(near))

    def filled(self, labelled: Labelled, count: int) -> Labelled:
        """The question with its evidence and distractors, `count` together if the collection has so many.

        A text that holds the answer is no distractor, because it may be as good as the evidence.
        """
        own, order = labelled.question, labelled.graph.order()
        kept = [labelled.facts[node] for node in order]
        room = max(0, count - len(kept))
        near = [text for text in self._near(own.question, 2 * count) if self._fits(text, kept, own.answer)]
        chosen = near[: round(NEAR * room)] if kept else near[:room]
        draw = Random(f"{self.seed}|candidates|{own.id}")
        # a few texts more than needed, since some do not fit
        for number in draw.sample(range(len(self.corpus)), min(len(self.corpus), 4 * count)):
            text = self.corpus[number].whole.strip()
            if len(chosen) < room and text and self._fits(text, [*kept, *chosen], own.answer):
                chosen.append(text)
        graph = labelled.graph.relabel({node: place for place, node in enumerate(order)})
        return replace(labelled, facts=(*kept, *chosen), graph=graph)

    @staticmethod
    def _fits(text: str, others: Sequence[str], answer: str) -> bool:
        return text not in others and not holds(text, answer)

    def _near(self, query: str, count: int) -> list[str]:
        if not query:
            return []
        [hits] = self.search.search([query], min(count, len(self.corpus)))
        rows = zip(hits.indices.tolist(), hits.scores.tolist(), strict=True)
        texts = (self.corpus[row].whole.strip() for row, score in rows if score > 0)
        return [text for text in dict.fromkeys(texts) if text]


def withheld(examples: Sequence[Example], share: float, seed: int, ids: Collection[str]) -> list[Example]:
    """Copies of a `share` of the examples with evidence, each without one random fact of it, and without an answer.

    If another candidate has the answer, it may replace what is withheld; such examples are not copied. So the result
    may be shorter than the share, which is rounded up.

    Args:
        ids: ids that are taken.
    """
    draw = Random(f"{seed}|withheld")
    able = [one for one in examples if one.graph.nodes and len(one.facts) > 1 and not _elsewhere(one)]
    wanted = -int(-share * sum(one.answerable for one in examples) // 1)
    return [_without_a_fact(one, draw, ids) for one in draw.sample(able, min(wanted, len(able)))]


def _elsewhere(one: Example) -> bool:
    """Whether a candidate that is not evidence has the answer."""
    evidence = set(one.graph.nodes)
    return any(holds(text, one.answer) for number, text in enumerate(one.facts) if number not in evidence)


def _without_a_fact(one: Example, draw: Random, ids: Collection[str]) -> Example:
    nodes = one.graph.nodes
    gone = draw.choice(nodes)
    id = f"{one.id}-withheld"
    while id in ids:
        id += "+"
    facts = tuple(text for number, text in enumerate(one.facts) if number != gone)
    missing = "one" if len(nodes) > 1 else "all"
    return replace(one, id=id, facts=facts, graph=EvidenceGraph(), answer="", missing=missing)
