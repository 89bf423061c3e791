"""BridgeRAG (arXiv 2604.03384): candidates of the second hop, judged by their use given what the first hop found."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

from bgr.graph.evidence_graph import ROOT, EvidenceGraph
from bgr.llm.backends.loading import language_model
from bgr.llm.language_model import LanguageModel, ParsedReply
from bgr.retrievers.base import Query, RetrievalResult, Retriever, star
from bgr.retrievers.bridgerag.bridgerag_settings import PAPER, BridgeSettings
from bgr.retrievers.bridgerag.judge import Case, Judge, ProbabilityJudge, ScoreJudge
from bgr.retrievers.bridgerag.pool import Pool, Pools, fuse
from bgr.retrievers.scope import Scope

if TYPE_CHECKING:
    from bgr.collection.collection import Collection


def bridge_graph(bridge: int | None, ranking: Sequence[int], top: int) -> EvidenceGraph:
    """Q → bridge → each of the `top` first passages; Q leads to these itself where the bridge is not in the ranking.

    Args:
        bridge: index of the bridge.
        ranking: indices of the result's passages, best first.
        top: how many passages count as found; the bridge is in the graph even where it ranks lower.
    """
    found = ranking[:top]
    if bridge is None or bridge not in ranking:
        return star(found)
    return EvidenceGraph({(ROOT, bridge)} | {(bridge, index) for index in found if index != bridge})


JudgeName = Literal["scores", "probability"]

JUDGES: Mapping[str, type[Judge]] = {"scores": ScoreJudge, "probability": ProbabilityJudge}


class BridgeRag(Retriever):
    """The best passage for the question (the bridge), a pool of what it leads to, and a judge who reads both.

    All questions go through a step together, as one batch of requests: three calls a question, or two and one for each
    candidate with the probability judge. The whole pool is ranked; its first `settings.top` are the paper's result. A
    judge that fails leaves the order to the SVO cosine alone.

    Args:
        llm: writes queries, names entities, judges.
        scope: the passages and their search, whose scores are cosines.
        settings: the paper's unless given.
        judge: ``scores`` asks for all of them at once; ``probability`` takes that of "yes", candidate by candidate,
            from a backend that gives log-probabilities.

    Raises:
        ValueError: an unknown judge.
    """

    def __init__(
        self,
        llm: LanguageModel,
        scope: Scope,
        settings: BridgeSettings = PAPER,
        *,
        judge: JudgeName = "scores",
    ) -> None:
        if judge not in JUDGES:
            raise ValueError(f"judge is {judge!r}, allowed: {', '.join(sorted(JUDGES))}")
        self.llm = llm
        self.scope = scope
        self.settings = settings
        self.pools = Pools(llm, settings)
        self.judge = JUDGES[judge](settings)

    @classmethod
    def over(
        cls,
        collection: Collection,
        *,
        llm: LanguageModel | str,
        settings: BridgeSettings = PAPER,
        judge: JudgeName = "scores",
    ) -> BridgeRag:
        """Retrieve from a collection; `llm` is a language model or its name (`load_backend`).

        Example::

            [result] = BridgeRag.over(collection, llm="smollm2").retrieve([Query("Which …?")])
        """
        return cls(language_model(llm), Scope.over(collection, "dense"), settings, judge=judge)

    def retrieve(self, queries: Sequence[Query]) -> list[RetrievalResult]:
        """The pool, ranked; the graph leads from the question by the bridge to the first passages."""
        started = time.perf_counter()
        pools = self.pools([query.question for query in queries], [self.scope.of(query) for query in queries])
        reads = self._judged(pools)
        share = (time.perf_counter() - started) / max(1, len(pools))
        return [self._result(pool, read, share) for pool, read in zip(pools, reads, strict=True)]

    def case(self, pool: Pool, *, bridge: bool = True) -> Case:
        """The judge's input for a pool, with its bridge or without."""
        corpus = pool.scope.corpus
        text = corpus[pool.bridge].whole if bridge and pool.bridge is not None else None
        return Case(pool.question, [corpus[index] for index in pool.indices], text, pool.entities)

    def _judged(self, pools: Sequence[Pool]) -> list[ParsedReply | None]:
        """The judge's verdict on each pool; ``None`` where it is not asked."""
        condition = self.settings.condition
        asked = [pool for pool in pools if pool.indices and condition != "svo"]
        reads = iter(self.judge(self.llm, [self.case(pool, bridge=condition == "full") for pool in asked]))
        return [next(reads) if pool.indices and condition != "svo" else None for pool in pools]

    def _result(self, pool: Pool, read: ParsedReply | None, seconds: float) -> RetrievalResult:
        usage, trace = pool.usage, list(pool.trace)
        if read is not None:
            usage += read.usage
            trace.append(judge_record(read, condition=self.settings.condition))
        fused = fuse(read.value if read is not None else None, pool.svo, self.settings.alpha)
        ranking = pool.ranking(fused)
        indices = [index for index, _ in ranking]
        trace.append(
            {
                "step": "rank",
                "alpha": self.settings.alpha,
                "pit_judge": None if fused.judge is None else fused.judge.tolist(),
                "pit_svo": fused.svo.tolist(),
                "fused": fused.scores.tolist(),
                "ranked": indices,
                "top": indices[: self.settings.top],
            }
        )
        return RetrievalResult(
            bridge_graph(pool.bridge, indices, self.settings.top),
            ranking=ranking,
            searched=pool.scope.corpus,
            usage=usage,
            seconds=seconds,
            trace=tuple(trace),
        )


def judge_record(read: ParsedReply, **about: Any) -> dict[str, Any]:
    """The judge's record in a trace; scores are in the order of the pool."""
    return {"step": "judge", **about, "scores": read.value, "failure": read.failure, "usage": read.usage.to_json()}
