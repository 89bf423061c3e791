"""Single-hop baselines BM25 and random (paper, section 5.1 and Table 4): k facts that directly follow the question."""

from __future__ import annotations

import random
from abc import abstractmethod
from collections.abc import Sequence

from bgr.collection.bm25 import Bm25Search
from bgr.graph.evidence_graph import ROOT, EvidenceGraph
from bgr.retrievers.base import Query, RetrievalResult, Retriever
from bgr.retrievers.baselines.beam import TopFacts


class StarRetriever(Retriever):
    """Returns a star ``Q -> fact`` over the k facts that `choose` picks; `k` and errors as for `TopFacts`."""

    def __init__(self, k: int | None = None) -> None:
        self.k = k
        self._count = TopFacts(k).count

    @abstractmethod
    def choose(self, query: Query, k: int) -> dict[int, float | None]:
        """At most k indices of ``query.facts``, each with its score, if it has one."""

    def retrieve(self, queries: Sequence[Query]) -> list[RetrievalResult]:
        return [self._star(query) for query in queries]

    def _star(self, query: Query) -> RetrievalResult:
        chosen = self.choose(query, min(self._count(query), len(query.facts)))
        scores = {(ROOT, place): score for place, score in chosen.items() if score is not None}
        return RetrievalResult(EvidenceGraph([(ROOT, place) for place in chosen], scores), searched=query.facts)


class Bm25Facts(StarRetriever):
    """BM25 with the word statistics of the question's own candidates. Edge scores are BM25 scores."""

    def choose(self, query: Query, k: int) -> dict[int, float | None]:
        return dict(Bm25Search(query.facts).top(query.question, k))


class RandomFacts(StarRetriever):
    """Random facts. Sampling depends only on the seed and the question, not on the order or the batch of questions."""

    def __init__(self, k: int | None = None, *, seed: int = 0) -> None:
        super().__init__(k)
        self.seed = seed

    def choose(self, query: Query, k: int) -> dict[int, float | None]:
        drawn = random.Random(f"{self.seed} {query.question}").sample(range(len(query.facts)), k)
        return dict.fromkeys(drawn)
