"""The BM25 baseline of the paper's Table 4: the k candidates that share the most telling words with the question."""

from __future__ import annotations

from bgr.baselines.star import StarRetriever
from bgr.retrieval import Query
from bgr.search.bm25 import Bm25Index


class Bm25Facts(StarRetriever):
    """Word statistics come from the question's own candidates. Edge scores are BM25 scores, not probabilities."""

    def choose(self, query: Query, k: int) -> dict[int, float | None]:
        return dict(Bm25Index(query.facts).top(query.question, k))
