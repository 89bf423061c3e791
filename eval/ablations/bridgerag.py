"""`bgr ablate bridgerag`: the value of the bridge, with every judge on the same pool."""

from __future__ import annotations

import time
from collections.abc import Collection, Mapping, Sequence
from contextlib import closing
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from bgr.collection.vectors import DenseSearch
from bgr.data.multihop.assemble import MultihopData
from bgr.llm.prompts import prompts_hash
from bgr.retrievers.base import Query, RetrievalResult, Retriever, star
from bgr.retrievers.bridgerag.agent import BridgeRag, judge_record
from bgr.retrievers.bridgerag.judge import Case
from bgr.retrievers.bridgerag.pool import Pool, fuse
from bgr.retrievers.bridgerag.steps import ParsedReply
from bgr.retrievers.scope import Scope
from bgr.utils.atomic_io import complete_folder
from eval.ablations.bridgerag_report import Judged, Study, studies_of, write_report
from eval.ablations.options import AblateBridgeragOptions
from eval.compare.passages import describe
from eval.run.run_system import System
from eval.systems.method_settings import MethodSettings
from eval.systems.resources import Resources
from eval.systems.study import about_files, load_questions, open_output, run_all

SYSTEM = "bridgerag-ablation"


@dataclass(frozen=True)
class BridgeragAblation:
    """The tables of the study, and what was compared."""

    studies: Sequence[Study]
    about: Mapping[str, Any]


def ablate_bridgerag(options: AblateBridgeragOptions) -> BridgeragAblation:
    """Run all experiments, analyze them and write the report.

    Raises:
        BgrError: the options contradict each other, or a file is damaged.
    """
    whole = load_questions(options)
    data = whole.first(options.limit)
    with closing(Resources(options, data)) as resources:
        resources.check()
        _ = resources.encoder  # a wrong folder is reported before anything is replaced
        system = _system(options, whole, resources)  # loads the model, whose errors come before old results go
        open_output(options)
        ((_, found),) = run_all(options, [system], data)
        judged = [Judged.of(question, one, data) for question, one in zip(data.questions, found, strict=True)]
        studies = studies_of(judged, system.settings["bridgerag"]["alpha"])
        about = about_files(options) | resources.about | {"settings": dict(system.settings), **describe(data)}
        write_report(options.out, studies, about)
        complete_folder(options.out)
        return BridgeragAblation(studies, about)


def _system(options: AblateBridgeragOptions, data: MultihopData, resources: Resources) -> System:
    """All experiments as one system. Its settings include the gold passages of all questions, whatever the limit."""

    chosen = MethodSettings.read(options.settings).bridgerag

    def make() -> Retriever:
        scope = Scope.over(resources.collection, "dense")
        return AblationRetriever(BridgeRag(resources.llm, scope, chosen, judge=options.judge), gold_indices(data))

    settings = {
        "encoder": resources.encoder.identity(),
        "llm": resources.backend(resources.llm_spec).name,
        "judge": options.judge,
        "bridgerag": asdict(chosen),
        "prompts": prompts_hash("bgr.bridgerag"),
        "data": data.hash,
    }
    return System(SYSTEM, settings, make)


def gold_indices(data: MultihopData) -> dict[str, tuple[int, ...]]:
    """Indices of the gold passages of all questions with the same text."""
    found: dict[str, set[int]] = {}
    for question in data.questions:
        found.setdefault(question.question, set()).update(data.corpus.index_of[id] for id in question.gold)
    return {text: tuple(sorted(indices)) for text, indices in found.items()}


def cases_of(method: BridgeRag, pool: Pool, gold: Collection[int]) -> dict[str, Case]:
    """The judge's input by variant, without variants whose passage does not exist."""
    if pool.bridge is None or not pool.indices:
        return {}
    full = method.case(pool)
    texts = {"svo-text": "\n".join(pool.queries)}
    for name, index in (("lowest", lowest(pool)), ("negative", negative(pool, gold))):
        if index is not None:
            texts[name] = pool.scope.corpus[index].whole
    others = {name: replace(full, bridge=text) for name, text in texts.items()}
    return {"plain": method.case(pool, bridge=False), "full": full, **others}


def lowest(pool: Pool) -> int | None:
    """The candidate, other than the bridge, whose SVO cosine is lowest; one without a cosine counts as lower."""
    cosines = zip(pool.svo, pool.indices, strict=True)
    others = [(-2.0 if svo is None else svo, index) for svo, index in cosines if index != pool.bridge]
    return min(others, default=(0.0, None))[1]


def negative(pool: Pool, gold: Collection[int]) -> int | None:
    """The passage that is neither gold nor the bridge and ranks best: in the first hop's list, then in the pool."""
    first = [int(index) for index, _ in pool.trace[0]["found"]]
    return next((index for index in (*first, *pool.indices) if index != pool.bridge and index not in gold), None)


class AblationRetriever(Retriever):
    """Builds the pool once and asks the judges of all `VARIANTS` about it in one batch. The ranking is that of the full
    method; usage is that of all experiments together. The method itself does not see the indices of gold passages
    (`gold`, by question), which are for the hard negative and for the distances that the trace has if the search holds
    vectors."""

    def __init__(self, method: BridgeRag, gold: Mapping[str, Sequence[int]]) -> None:
        self.method, self.gold = method, gold

    @property
    def concurrency(self) -> int:
        return self.method.concurrency

    def retrieve(self, queries: Sequence[Query]) -> list[RetrievalResult]:
        started = time.perf_counter()
        scopes = [self.method.scope.of(query) for query in queries]
        pools = self.method.pools([query.question for query in queries], scopes)
        cases = [cases_of(self.method, pool, self.gold.get(pool.question, ())) for pool in pools]
        reads = iter(self.method.judge(self.method.llm, [case for of_one in cases for case in of_one.values()]))
        judged = [{name: next(reads) for name in of_one} for of_one in cases]
        share = (time.perf_counter() - started) / max(1, len(pools))
        return [self._result(pool, found, share) for pool, found in zip(pools, judged, strict=True)]

    def _result(self, pool: Pool, judged: Mapping[str, ParsedReply], seconds: float) -> RetrievalResult:
        full = judged["full"].value if "full" in judged else None
        ranking = pool.ranking(fuse(full, pool.svo, self.method.settings.alpha))
        records = [judge_record(read, variant=name) for name, read in judged.items()]
        return RetrievalResult(
            star([index for index, _ in ranking]),
            ranking=ranking,
            searched=pool.scope.corpus,
            usage=sum((read.usage for read in judged.values()), pool.usage),
            seconds=seconds,
            trace=(*pool.trace, *records, self._near(pool)),
            is_list=True,
        )

    def _near(self, pool: Pool) -> dict[str, Any]:
        """Cosines of the bridge with each gold passage, and the mean distance (1 − cosine) of two candidates."""
        gold = list(self.gold.get(pool.question, ()))
        record: dict[str, Any] = {"step": "near", "gold": gold, "to_bridge": None, "spread": None}
        dense = pool.scope.search
        if isinstance(dense, DenseSearch) and pool.bridge is not None:
            take = dense.vectors.take
            bridge = take(np.array([pool.bridge])).astype(np.float64)[0]  # [d]
            record["to_bridge"] = (take(np.array(gold, dtype=np.int64)).astype(np.float64) @ bridge).tolist()
            record["spread"] = spread(take(np.array(pool.indices)))
        return record


def spread(vectors: np.ndarray) -> float | None:
    """Mean of 1 − cosine over all pairs of rows of unit vectors ``[n, d]``; ``None`` for fewer than two."""
    n = len(vectors)
    if n < 2:
        return None
    cosines = vectors.astype(np.float64) @ vectors.astype(np.float64).T
    return float(1 - (cosines.sum() - np.trace(cosines)) / (n * (n - 1)))
