"""PRISM's tables, each as header and rows of text.

The ablations of PRISM by name, and the contexts that answers are read from beside it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace

from bgr.data.multihop.assemble import MultihopData
from bgr.retrievers.prism.prism_settings import PAPER, PrismSettings
from eval.ablations.prism_errors import error_shares, recall_against_answers
from eval.ablations.prism_rounds import by_rounds
from eval.ablations.prism_score import ANSWERS, FACTS, PASSAGES, VariantScores
from eval.ablations.prism_trace import reading_tokens
from eval.passages.groups import tokens_of
from eval.passages.tables import percent, written
from eval.report.report import Table

VARIANTS: Mapping[str, PrismSettings] = {
    "prism": PAPER,
    "no-analyser": replace(PAPER, analyser=False),
    "no-adder": replace(PAPER, agents=("selector",), start="all", rounds=1),
    "no-selector": replace(PAPER, agents=("adder",)),
    "no-draft": replace(PAPER, start="none"),
    "selector-first": replace(PAPER, agents=("selector", "adder"), start="all"),
    "four-rounds": replace(PAPER, rounds=4),
    "whole-passages": replace(PAPER, whole_passages=True),
}
"""``no-analyser`` and ``no-adder`` (one selection from all sentences) are those of Table 6, ``four-rounds`` gives
Table 15 for N = 1 … 4, ``whole-passages`` is Table 8; the others are ours."""

CONTEXTS = ("full-context", "oracle")
"""The same answer generator on all candidates, and on the gold sentences (the gold passages, where the data has no
gold sentences)."""


EVIDENCE_NOTE = (
    "P, R, F1 of passages, and of sentences (fact-) where the data has gold sentences, in percent: means over "
    "questions with gold, 0 where nothing was found. #passages and #sentences: of the evidence. Left: its sentences "
    "and words, in percent of the candidates' (100 minus the context reduction). Dropped: names of sentences that do "
    "not exist, for one question."
)
ANSWERS_NOTE = (
    "EM, F1 and partial match (PMA) of the answer in percent, 0 where there is none. Answered: share of questions with "
    "an answer. Full context: all candidates; oracle: the gold evidence."
)
COST_NOTE = (
    "For one question; cached calls were answered from the replay cache, and their tokens count; answer tokens were "
    "read in the step that answers, – where some were not counted; failed are steps of all questions whose reply could "
    "not be used."
)
ROUNDS_NOTE = "Read off the traces of one run; calls and tokens (read and written) without those of the answer."
ERRORS_NOTE = "Shares of each row's questions in percent. Recall is that of passages; an answer is wrong where EM is 0."
MATCH_NOTE = (
    "Wrong at R = 1: in percent of the questions at R = 1; right at R < 1: in percent of those; of the wrong at R = 1: "
    "the wrong answers with R = 1, in percent of all wrong ones."
)


def evidence_table(variants: Sequence[VariantScores]) -> Table:
    """One row for each variant that searches: evidence sets (Tables 2 and 6) and context reduction (Table 14)."""
    facts = any(not math.isnan(one.mean(FACTS[1])) for one in variants)
    header = ["variant", "P", "R", "F1", *(("fact-P", "fact-R", "fact-F1") if facts else ())]
    header += ["#passages", "#sentences", "left (sent.)", "left (words)", "dropped", "n"]
    rows = [
        [
            one.name,
            *(percent(one.mean(metric)) for metric in (*PASSAGES, *(FACTS if facts else ()))),
            *(f"{one.mean(metric):.2f}" for metric in ("passages", "sentences")),
            *(percent(one.mean(metric)) for metric in ("sentences_left", "words_left")),
            f"{one.mean('hallucinated'):.2f}",
            str(len(one.found)),
        ]
        for one in variants
        if one.name not in CONTEXTS
    ]
    return header, rows


def answers_table(variants: Sequence[VariantScores]) -> Table:
    """One row for each variant and context (Tables 3, 7 and 8)."""
    rows = [
        [
            one.name,
            *(percent(one.mean(metric)) for metric in ANSWERS),
            percent(sum(found.answer is not None for found in one.found) / max(1, len(one.found))),
            str(len(one.found)),
        ]
        for one in variants
    ]
    return ["variant", "EM", "F1", "PMA", "answered", "n"], rows


def cost_table(variants: Sequence[VariantScores]) -> Table:
    """One row for each variant and context (Table 14)."""
    rows = []
    for one in variants:
        usage, n = one.usage, max(1, len(one.found))
        reading = sum(map(reading_tokens, one.found))
        counts = [f"{getattr(usage, name) / n:.1f}" for name in ("calls", "cached")]
        tokens = [*tokens_of(usage, n).values(), reading / n]
        seconds = sum(found.whole_seconds for found in one.found) / n
        rows.append([one.name, *counts, *map(written, tokens), str(usage.failed), f"{seconds:.2f}"])
    return ["variant", "calls", "cached", "tokens in", "tokens out", "answer tokens", "failed", "s/question"], rows


def rounds_table(variant: VariantScores, data: MultihopData) -> Table:
    """One row for each N (Table 15); no rows where the traces have no rounds."""
    found = by_rounds(variant, data)
    facts = any(not math.isnan(row[FACTS[1]]) for row in found)
    metrics = (*PASSAGES, *(FACTS if facts else ()))
    rows = [
        [
            f"N = {row['rounds']:.0f}",
            *(percent(row[metric]) for metric in metrics),
            *(f"{row[name]:.2f}" for name in ("passages", "sentences")),
            f"{row['calls']:.1f}",
            written(row["tokens"]),
        ]
        for row in found
    ]
    names = ["P", "R", "F1", *(("fact-P", "fact-R", "fact-F1") if facts else ())]
    return ["rounds", *names, "#passages", "#sentences", "calls", "tokens"], rows


def errors_table(variant: VariantScores, data: MultihopData, by: str) -> Table:
    """One row for each subset: which kinds of questions, or hops, it is made of (Tables 9 to 12)."""
    found = error_shares(variant, data, by)
    groups = [name for name in next(iter(found.values())) if name != "n"]
    rows = [[subset, *(percent(row[group]) for group in groups), f"{row['n']:.0f}"] for subset, row in found.items()]
    return ["subset", *groups, "n"], rows


def match_table(variants: Sequence[VariantScores]) -> Table:
    """One row for each variant that searches: recall against answers (Table 13)."""
    header = [
        "variant",
        "wrong at R = 1",
        "n (R = 1)",
        "right at R < 1",
        "n (R < 1)",
        "of the wrong at R = 1",
        "n (wrong)",
    ]
    rows = []
    for one in variants:
        if one.name not in CONTEXTS:
            found = recall_against_answers(one)
            pairs = (
                ("wrong_at_complete", "complete"),
                ("right_at_incomplete", "incomplete"),
                ("complete_of_wrong", "wrong"),
            )
            rows.append([one.name, *(cell for a, b in pairs for cell in (percent(found[a]), f"{found[b]:.0f}"))])
    return header, rows
