"""Single-hop baselines of the paper's Table 4, BM25 and random: k facts that all follow the question directly (section
5.1)."""

from __future__ import annotations

import random
from abc import abstractmethod
from collections.abc import Sequence

from bgr.collection.bm25 import Bm25Search
from bgr.errors import BgrError
from bgr.graph.evidence_graph import ROOT, EvidenceGraph
from bgr.retrievers.base import Query, RetrievalResult, Retriever


class StarRetriever(Retriever):
    """Returns a star ``Q -> fact`` over the k facts that `choose` picks.

    Args:
        k: number of facts; None takes `Query.gold_count`, the paper's protocol.

    Raises:
        BgrError: k is negative, or is None and a query does not say how many gold facts there are.
    """

    def __init__(self, k: int | None = None) -> None:
        if k is not None and k < 0:
            raise BgrError(f"k is {k}; it must be 0 or more")
        self.k = k

    @abstractmethod
    def choose(self, query: Query, k: int) -> dict[int, float | None]:
        """At most k places of ``query.facts``, each with its score, if it has one."""

    def retrieve(self, queries: Sequence[Query]) -> list[RetrievalResult]:
        return [self._star(query) for query in queries]

    def _star(self, query: Query) -> RetrievalResult:
        k = query.gold_count if self.k is None else self.k
        if k is None:
            raise BgrError(f"question {query.question!r}: no number of gold facts is given; choose a fixed k")
        chosen = self.choose(query, min(k, len(query.facts)))
        scores = {(ROOT, place): score for place, score in chosen.items() if score is not None}
        return RetrievalResult(EvidenceGraph([(ROOT, place) for place in chosen], scores), searched=query.facts)


class Bm25Facts(StarRetriever):
    """Word statistics come from the question's own candidates. Edge scores are BM25 scores, not probabilities."""

    def choose(self, query: Query, k: int) -> dict[int, float | None]:
        return dict(Bm25Search(query.facts).top(query.question, k))


class RandomFacts(StarRetriever):
    """The draw depends on the seed and the question alone, not on the order or the batch that a question comes in."""

    def __init__(self, k: int | None = None, *, seed: int = 0) -> None:
        super().__init__(k)
        self.seed = seed

    def choose(self, query: Query, k: int) -> dict[int, float | None]:
        drawn = random.Random(f"{self.seed} {query.question}").sample(range(len(query.facts)), k)
        return dict.fromkeys(drawn)
