"""BridgeRAG's experiments on one pool: the judge's input in each, and its verdicts as the log keeps them."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from bgr.data.multihop.assemble import MultihopData, MultihopQuestion
from bgr.errors import DataError
from bgr.llm.usage import Usage
from bgr.metrics.evidence_set import recalls_at
from bgr.retrievers.bridgerag.agent import BridgeRag
from bgr.retrievers.bridgerag.judge import Case
from bgr.retrievers.bridgerag.pool import Pool, fuse, ranked
from eval.run.question_result import QuestionResult

VARIANTS: Mapping[str, str] = {
    "plain": "B: no bridge",
    "full": "C: the bridge",
    "svo-text": "C, the second-hop queries for the bridge",
    "lowest": "C, the pool's passage of lowest SVO cosine for the bridge",
    "negative": "C, the best-ranked wrong passage for the bridge",
}
"""Judges by name. The entities are those of the real bridge in all but the first. Condition A needs no judge."""


def cases_of(method: BridgeRag, pool: Pool, gold: Collection[int]) -> dict[str, Case]:
    """The cases of one pool by variant; one whose passage does not exist is left out, and all of an empty pool."""
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
    others = [
        (-2.0 if svo is None else svo, index)
        for index, svo in zip(pool.indices, pool.svo, strict=True)
        if index != pool.bridge
    ]
    return min(others)[1] if others else None


def negative(pool: Pool, gold: Collection[int]) -> int | None:
    """The passage that is neither gold nor the bridge and ranks best: in the first hop's list, then in the pool."""
    first = [int(index) for index, _ in pool.trace[0]["found"]]
    return next((index for index in (*first, *pool.indices) if index != pool.bridge and index not in gold), None)


SVO = "svo"
"""Condition A: no judge."""


@dataclass(frozen=True)
class Judged:
    """A question with its pool.

    Args:
        question: with its gold.
        places: of the candidates.
        pool: their ids.
        titles: different titles among them.
        svo: their best cosines to a second-hop query, ``None`` where not known.
        scores: the judge's, by variant; ``None`` where it failed; a variant that does not exist is not there.
        usage: of the pool under ``svo``, and of each variant's judge.
        proximity: mean cosine of the bridge with the gold passages other than itself; NaN where there is none.
        spread: mean distance of two candidates; NaN where it is not known.
    """

    question: MultihopQuestion
    places: tuple[int, ...]
    pool: tuple[str, ...]
    titles: int
    svo: tuple[float | None, ...]
    scores: Mapping[str, tuple[float, ...] | None]
    usage: Mapping[str, Usage]
    proximity: float
    spread: float

    @property
    def has_gold(self) -> bool:
        """True if its recall is a number."""
        return bool(self.question.gold) or self.question.missing > 0

    def has(self, system: str) -> bool:
        """True if there is a list of that variant, or of condition A."""
        return system == SVO or system in self.scores

    def ranked(self, system: str, alpha: float) -> list[str]:
        """The pool's ids in the order of a variant (of condition A for ``svo``), with any weight of the cosine."""
        fused = fuse(None if system == SVO else self.scores[system], self.svo, alpha)
        return [self.pool[n] for n in ranked(self.places, fused.scores)]

    def recall(self, system: str, alpha: float, ks: Sequence[int]) -> np.ndarray:
        """R@k of that order, ``float64 [len(ks)]``; NaN without gold."""
        return recalls_at(self.ranked(system, alpha), self.question.gold, ks, missing=self.question.missing)

    @classmethod
    def of(cls, question: MultihopQuestion, found: QuestionResult, data: MultihopData) -> Judged:
        """Read from what was kept.

        Raises:
            DataError: the trace is of another method, damaged, or was made with other gold passages.
        """
        try:
            return _judged(question, found, data)
        except (KeyError, IndexError, TypeError, ValueError, AttributeError) as error:
            raise DataError(f"result of {question.id}: no trace of BridgeRAG's experiments: {error!r}") from None


def _judged(question: MultihopQuestion, found: QuestionResult, data: MultihopData) -> Judged:
    steps = {step["step"]: step for step in found.trace}
    judges = {step["variant"]: step for step in found.trace if step["step"] == "judge"}
    places = tuple(map(int, steps["pool"]["places"]))
    gold = [data.corpus.index_of[id] for id in question.gold]
    if not set(gold) <= set(steps["near"]["gold"]):
        raise DataError(f"result of {question.id}: made with other gold passages; give another --out or --overwrite")
    usage = {name: _usage(step) for name, step in judges.items()}
    usage[SVO] = sum((_usage(step) for step in found.trace if step["step"] in ("queries", "entities")), Usage())
    passages = [data.corpus[place] for place in places]
    return Judged(
        question=question,
        places=places,
        pool=tuple(passage.id for passage in passages),
        titles=len({passage.title for passage in passages}),
        svo=_numbers(steps["pool"]["svo"], len(places)),
        scores={name: _scores(judges[name], len(places)) for name in VARIANTS if name in judges},
        usage=usage,
        proximity=_proximity(steps["near"], gold, steps["first"]["bridge"]),
        spread=math.nan if steps["near"]["spread"] is None else float(steps["near"]["spread"]),
    )


def _numbers(values: Sequence[Any], count: int) -> tuple[float | None, ...]:
    if len(values) != count:
        raise ValueError(f"{len(values)} numbers for {count} candidates")
    numbers = tuple(None if value is None else float(value) for value in values)
    if not all(number is None or math.isfinite(number) for number in numbers):
        raise ValueError("a score is no number")
    return numbers


def _usage(step: Mapping[str, Any]) -> Usage:
    """Of a step; the sum says whether its fields are numbers."""
    return Usage(**step["usage"]) + Usage()


def _scores(step: Mapping[str, Any], count: int) -> tuple[float, ...] | None:
    if step["scores"] is None:
        return None
    numbers = _numbers(step["scores"], count)
    return tuple(number for number in numbers if number is not None) if None not in numbers else None


def _proximity(near: Mapping[str, Any], gold: Sequence[int], bridge: int | None) -> float:
    """g2 of the paper is the second hop's gold passage: here every gold passage that is not the bridge."""
    if near["to_bridge"] is None:
        return math.nan
    cosines = dict(zip(near["gold"], near["to_bridge"], strict=True))
    others = [float(cosines[place]) for place in gold if place != bridge]
    return sum(others) / len(others) if others else math.nan
