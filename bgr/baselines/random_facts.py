"""The random baseline of the paper's Table 4: k candidates drawn without looking."""

from __future__ import annotations

import random

from bgr.baselines.star import StarRetriever
from bgr.retrieval import Query


class RandomFacts(StarRetriever):
    """The draw depends on the seed and the question alone, not on the order or the batch that a question comes in."""

    def __init__(self, k: int | None = None, *, seed: int = 0) -> None:
        super().__init__(k)
        self.seed = seed

    def choose(self, query: Query, k: int) -> dict[int, float | None]:
        drawn = random.Random(f"{self.seed} {query.question}").sample(range(len(query.facts)), k)
        return dict.fromkeys(drawn)
