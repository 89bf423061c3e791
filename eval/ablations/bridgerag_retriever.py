"""All of BridgeRAG's experiments for a question in one go, with all that the analyses need in its trace."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from bgr.collection.search import Search
from bgr.collection.vectors import DenseSearch
from bgr.data.multihop.assemble import MultihopData
from bgr.retrievers.base import PassageResult, PassageRetriever
from bgr.retrievers.bridgerag.agent import BridgeRag, judge_record
from bgr.retrievers.bridgerag.pool import Pool, fuse, ranked
from bgr.retrievers.bridgerag.steps import Read
from eval.ablations.bridgerag_judged import cases_of


def gold_places(data: MultihopData) -> dict[str, tuple[int, ...]]:
    """Places of the gold passages by the text of the question; of all questions that share the text."""
    found: dict[str, set[int]] = {}
    for question in data.questions:
        found.setdefault(question.question, set()).update(data.corpus.index_of[id] for id in question.gold)
    return {text: tuple(sorted(places)) for text, places in found.items()}


class AblationRetriever(PassageRetriever):
    """The pool once, then every judge of `bridgerag_judged` on it, all in one batch. The list is that of the
    full method; usage is that of all experiments together.

    Args:
        method: BridgeRAG; its condition does not count.
        dense: its search; where it holds vectors, the trace tells how near passages are.
        gold: places by the text of the question, for the hard negative and for the nearness of gold; the method itself
            does not see it.
    """

    def __init__(self, method: BridgeRag, dense: Search, gold: Mapping[str, Sequence[int]]) -> None:
        self.method, self.dense, self.gold = method, dense, gold

    def retrieve(self, questions: Sequence[str]) -> list[PassageResult]:
        """One result for each question, in order."""
        started = time.perf_counter()
        pools = self.method.pools(questions)
        cases = [cases_of(self.method, pool, self.gold.get(pool.question, ())) for pool in pools]
        reads = iter(self.method.judge(self.method.llm, [case for of_one in cases for case in of_one.values()]))
        judged = [{name: next(reads) for name in of_one} for of_one in cases]
        share = (time.perf_counter() - started) / max(1, len(pools))
        return [self._result(pool, found, share) for pool, found in zip(pools, judged, strict=True)]

    def _result(self, pool: Pool, judged: Mapping[str, Read], seconds: float) -> PassageResult:
        full = judged["full"].value if "full" in judged else None
        fused = fuse(full, pool.svo, self.method.settings.alpha)
        order = ranked(pool.places, fused.scores)
        usage = sum((read.usage for read in judged.values()), pool.usage)
        records = [judge_record(read, variant=name) for name, read in judged.items()]
        return PassageResult(
            places=tuple(pool.places[n] for n in order),
            scores=tuple(float(fused.scores[n]) for n in order),
            usage=usage,
            seconds=seconds,
            trace=(*pool.trace, *records, self._near(pool)),
        )

    def _near(self, pool: Pool) -> dict[str, Any]:
        """Cosines of the bridge with each gold passage, and the mean distance (1 − cosine) of two candidates."""
        gold = list(self.gold.get(pool.question, ()))
        record: dict[str, Any] = {"step": "near", "gold": gold, "to_bridge": None, "spread": None}
        if isinstance(self.dense, DenseSearch) and pool.bridge is not None:
            take = self.dense.vectors.take
            bridge = take(np.array([pool.bridge])).astype(np.float64)[0]  # [d]
            record["to_bridge"] = (take(np.array(gold, dtype=np.int64)).astype(np.float64) @ bridge).tolist()
            record["spread"] = spread(take(np.array(pool.places)))
        return record


def spread(vectors: np.ndarray) -> float | None:
    """Mean of 1 − cosine over all pairs of different rows of ``[n, d]`` unit vectors; ``None`` for fewer than two."""
    n = len(vectors)
    if n < 2:
        return None
    cosines = vectors.astype(np.float64) @ vectors.astype(np.float64).T
    return float(1 - (cosines.sum() - np.trace(cosines)) / (n * (n - 1)))
