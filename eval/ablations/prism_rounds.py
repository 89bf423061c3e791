"""Evidence by the number of rounds, read off the trace of one longer run (paper, Table 15).

Exact where the model gives one reply to one request: no request of a round depends on how many rounds follow. Answers
cannot be read off, as each N has its own evidence to answer from.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from bgr.data.multihop.assemble import MultihopData
from eval.ablations.prism_score import FACTS, PASSAGES, VariantScores, set_row
from eval.ablations.prism_trace import evidence_after, rounds_of
from eval.passages.groups import usage_until


def by_rounds(variant: VariantScores, data: MultihopData) -> list[dict[str, float]]:
    """``[{rounds, passage_precision, …, fact_f1, passages, sentences, calls, tokens}]`` for N = 1, 2, …

    Means over the questions that have gold; sizes, calls (cached ones too) and tokens (read and written, without those
    of the answer) over all. Empty where the traces have no rounds.
    """
    last = max((number for found in variant.found for number in rounds_of(found)), default=0)
    return [_row(variant, data, number) for number in range(1, last + 1)]


def _row(variant: VariantScores, data: MultihopData, number: int) -> dict[str, float]:
    rows = []
    for question, found in zip(data.questions, variant.found, strict=True):
        sentences = evidence_after(found, data, number)
        passages = list(dict.fromkeys(passage for passage, _ in sentences))
        row = set_row(PASSAGES, passages, question.gold, missing=question.missing)
        row |= set_row(FACTS, sentences, question.sentences)
        rows.append(row | {"passages": len(passages), "sentences": len(sentences)} | usage_until(found, number))
    return {"rounds": float(number), **{name: _mean([row[name] for row in rows]) for name in rows[0]}}


def _mean(values: Iterable[float]) -> float:
    column = np.array(list(values), dtype=float)
    there = column[~np.isnan(column)]
    return float(there.mean()) if len(there) else float("nan")
