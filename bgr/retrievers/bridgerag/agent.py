"""BridgeRAG (arXiv 2604.03384): candidates of the second hop, judged by their use given what the first hop found.

How BridgeRAG's passages hang together: the question leads to the bridge, the bridge to what was found by it.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import Any, Literal

from bgr.collection.corpus import Corpus
from bgr.collection.search import Search
from bgr.graph.evidence_graph import ROOT, EvidenceGraph
from bgr.llm.language_model import Asks, Read
from bgr.retrievers.base import PassageResult, PassageRetriever
from bgr.retrievers.bridgerag.bridgerag_settings import PAPER, BridgeSettings
from bgr.retrievers.bridgerag.judge import Case, Judge, ProbabilityJudge, ScoreJudge
from bgr.retrievers.bridgerag.pool import Pool, fuse, ranked
from bgr.retrievers.bridgerag.searches import Pools


def bridge_graph(bridge: int | None, places: Sequence[int], top: int) -> EvidenceGraph:
    """Q → bridge → each of the `top` first passages; these hang from Q where the bridge is not among `places`.

    Args:
        bridge: its place in the corpus.
        places: the result's; the graph's facts are numbers into it.
        top: how many passages count as found; the bridge is in the graph even where it ranks lower.
    """
    found = range(min(top, len(places)))
    if bridge is None or bridge not in places:
        return EvidenceGraph({(ROOT, n) for n in found})
    start = list(places).index(bridge)
    return EvidenceGraph({(ROOT, start)} | {(start, n) for n in found if n != start})


JudgeName = Literal["scores", "probability"]

JUDGES: Mapping[str, type[Judge]] = {"scores": ScoreJudge, "probability": ProbabilityJudge}


class BridgeRag(PassageRetriever):
    """The best passage for the question (the bridge), a pool of what it leads to, and a judge who reads both.

    All questions go through a step together, as one batch of requests: three calls a question, or two and one for each
    candidate with the probability judge. The whole pool is ranked; its first `settings.top` are the paper's result. A
    judge that fails leaves the order to the SVO cosine alone.

    Args:
        llm: writes queries, names entities, judges.
        corpus: the passages.
        dense: searches them; its scores are cosines.
        settings: the paper's unless given.
        judge: ``scores`` asks for all of them at once; ``probability`` takes that of "yes", candidate by candidate,
            from a backend that gives log-probabilities.

    Raises:
        ValueError: an unknown judge.
    """

    def __init__(
        self,
        llm: Asks,
        corpus: Corpus,
        dense: Search,
        settings: BridgeSettings = PAPER,
        *,
        judge: JudgeName = "scores",
    ) -> None:
        if judge not in JUDGES:
            raise ValueError(f"judge is {judge!r}, allowed: {', '.join(sorted(JUDGES))}")
        self.llm = llm
        self.corpus = corpus
        self.settings = settings
        self.pools = Pools(llm, corpus, dense, settings)
        self.judge = JUDGES[judge](settings)

    def retrieve(self, questions: Sequence[str]) -> list[PassageResult]:
        """The pool, ranked; the graph leads from the question by the bridge to the first passages."""
        started = time.perf_counter()
        pools = self.pools(questions)
        reads = self._judged(pools)
        share = (time.perf_counter() - started) / max(1, len(pools))
        return [self._result(pool, read, share) for pool, read in zip(pools, reads, strict=True)]

    def case(self, pool: Pool, *, bridge: bool = True) -> Case:
        """What the judge is asked for a pool, with its bridge or without."""
        text = self.corpus[pool.bridge].whole if bridge and pool.bridge is not None else None
        return Case(pool.question, [self.corpus[place] for place in pool.places], text, pool.entities)

    def _judged(self, pools: Sequence[Pool]) -> list[Read | None]:
        """What the judge says of each pool; ``None`` where it is not asked."""
        condition = self.settings.condition
        asked = [pool for pool in pools if pool.places and condition != "svo"]
        reads = iter(self.judge(self.llm, [self.case(pool, bridge=condition == "full") for pool in asked]))
        return [next(reads) if pool.places and condition != "svo" else None for pool in pools]

    def _result(self, pool: Pool, read: Read | None, seconds: float) -> PassageResult:
        usage, trace = pool.usage, list(pool.trace)
        if read is not None:
            usage += read.usage
            trace.append(judge_record(read, condition=self.settings.condition))
        fused = fuse(read.value if read is not None else None, pool.svo, self.settings.alpha)
        order = ranked(pool.places, fused.scores)
        places = tuple(pool.places[n] for n in order)
        trace.append(
            {
                "step": "rank",
                "alpha": self.settings.alpha,
                "pit_judge": None if fused.judge is None else fused.judge.tolist(),
                "pit_svo": fused.svo.tolist(),
                "fused": fused.scores.tolist(),
                "ranked": list(places),
                "top": list(places[: self.settings.top]),
            }
        )
        scores = tuple(float(fused.scores[n]) for n in order)
        graph = bridge_graph(pool.bridge, places, self.settings.top)
        return PassageResult(places, scores, graph, None, usage, seconds, tuple(trace))


def judge_record(read: Read, **about: Any) -> dict[str, Any]:
    """The judge's step in a trace; scores are in the order of the pool."""
    return {"step": "judge", **about, "scores": read.value, "failure": read.failure, "usage": read.usage.to_json()}
