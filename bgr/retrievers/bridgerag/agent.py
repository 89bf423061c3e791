"""BridgeRAG (arXiv 2604.03384): candidates of the second hop, judged by their use given what the first hop found."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

from bgr.graph.evidence_graph import ROOT, EvidenceGraph
from bgr.llm.language_model import LanguageModel, ParsedReply
from bgr.retrievers.base import Query, RetrievalResult, star
from bgr.retrievers.bridgerag.judge import Case, Judge, ProbabilityJudge, ScoreJudge
from bgr.retrievers.bridgerag.pool import Pool, Pools, fuse
from bgr.retrievers.bridgerag.steps import PAPER, BridgeSettings
from bgr.retrievers.llm_retriever import LlmRetriever, step_record
from bgr.retrievers.scope import Scope


def bridge_graph(bridge: int | None, ranking: Sequence[int], top: int) -> EvidenceGraph:
    """Q → bridge → each of the first `top` passages; Q leads to these directly if the bridge is not in the ranking.

    `ranking` has indices, best first; the bridge is in the graph even if it ranks below `top`.
    """
    found = ranking[:top]
    if bridge is None or bridge not in ranking:
        return star(found)
    return EvidenceGraph({(ROOT, bridge)} | {(bridge, index) for index in found if index != bridge})


JudgeName = Literal["scores", "probability"]

JUDGES: Mapping[str, type[Judge]] = {"scores": ScoreJudge, "probability": ProbabilityJudge}


class BridgeRag(LlmRetriever):
    """The best passage for the question (the bridge), a pool of passages that it leads to, and a judge who reads both.

    There are three calls for each question, or two and one for each candidate with the probability judge. The whole
    pool is ranked; its first `settings.top` are the paper's result. If the judge fails, the SVO cosine alone decides
    the order.

    Args:
        scope: the passages and their search, whose scores are cosines.
        judge: ``scores`` asks for all scores at once; ``probability`` takes the probability of "yes" for each
            candidate, from a backend that gives log-probabilities.

    Raises:
        ValueError: an unknown judge.
    """

    base_search = "dense"  # whose scores are cosines

    def __init__(
        self, llm: LanguageModel, scope: Scope, settings: BridgeSettings = PAPER, *, judge: JudgeName = "scores"
    ) -> None:
        if judge not in JUDGES:
            raise ValueError(f"judge is {judge!r}, allowed: {', '.join(sorted(JUDGES))}")
        self.llm = llm
        self.scope = scope
        self.settings = settings
        self.pools = Pools(llm, settings)
        self.judge = JUDGES[judge](settings)

    def retrieve_batch(self, queries: Sequence[Query]) -> list[RetrievalResult]:
        """The ranked pool; the graph leads from the question by the bridge to the first passages."""
        pools = self.pools([query.question for query in queries], [self.scope.of(query) for query in queries])
        return [self._result(*pair) for pair in zip(pools, self._judged(pools), strict=True)]

    def case(self, pool: Pool, *, bridge: bool = True) -> Case:
        """The judge's input for a pool, with or without its bridge."""
        corpus = pool.scope.corpus
        text = corpus[pool.bridge].whole if bridge and pool.bridge is not None else None
        return Case(pool.question, [corpus[index] for index in pool.indices], text, pool.entities)

    def _judged(self, pools: Sequence[Pool]) -> list[ParsedReply | None]:
        """The judge's verdict on each pool; ``None`` if it is not asked."""
        condition = self.settings.condition
        asked = [pool for pool in pools if pool.indices and condition != "svo"]
        reads = iter(self.judge(self.llm, [self.case(pool, bridge=condition == "full") for pool in asked]))
        return [next(reads) if pool.indices and condition != "svo" else None for pool in pools]

    def _result(self, pool: Pool, read: ParsedReply | None) -> RetrievalResult:
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
            trace=tuple(trace),
        )


def judge_record(read: ParsedReply, **about: Any) -> dict[str, Any]:
    """The judge's record in a trace; scores are in the order of the pool."""
    return step_record("judge", read, **about, scores=read.value)
