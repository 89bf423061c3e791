"""Report of the ablations of PRISM: evidence, answers, cost, rounds and errors, as files."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from bgr.data.multihop.assemble import MultihopData
from bgr.retrievers.prism.prism_settings import PAPER, PrismSettings
from bgr.utils.atomic_io import without_nan, write_json, write_text
from eval.ablations.prism_score import (
    ANSWERS,
    FACTS,
    PASSAGES,
    VariantScores,
    by_rounds,
    error_shares,
    reading_tokens,
    recall_against_answers,
)
from eval.compare.passages import corpus_line
from eval.report.document import Document, Section, Table, number_text, percent, write_csv
from eval.run.passage_scores import tokens_of

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
"""Ablations of PRISM by name.

``no-analyser`` and ``no-adder`` (one selection from all sentences) are those of Table 6, ``four-rounds`` gives
Table 15 for N = 1 … 4, ``whole-passages`` is Table 8; the others are ours."""

CONTEXTS = ("full-context", "oracle")
"""Contexts beside PRISM.

The same answer generator on all candidates, and on the gold sentences (the gold passages, where the data has no
gold sentences)."""

GROUPINGS = ("kind", "hops")

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
    return Table.of(header, rows, notes=(EVIDENCE_NOTE,))


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
    return Table.of(["variant", "EM", "F1", "PMA", "answered", "n"], rows, notes=(ANSWERS_NOTE,))


def cost_table(variants: Sequence[VariantScores]) -> Table:
    """One row for each variant and context (Table 14)."""
    rows = []
    for one in variants:
        usage, n = one.usage, max(1, len(one.found))
        reading = sum(map(reading_tokens, one.found))
        counts = [f"{getattr(usage, name) / n:.1f}" for name in ("calls", "cached")]
        tokens = [*tokens_of(usage, n).values(), reading / n]
        seconds = sum(found.whole_seconds for found in one.found) / n
        rows.append([one.name, *counts, *map(number_text, tokens), str(usage.failed), f"{seconds:.2f}"])
    header = ["variant", "calls", "cached", "tokens in", "tokens out", "answer tokens", "failed", "s/question"]
    return Table.of(header, rows, notes=(COST_NOTE,))


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
            number_text(row["tokens"]),
        ]
        for row in found
    ]
    names = ["P", "R", "F1", *(("fact-P", "fact-R", "fact-F1") if facts else ())]
    return Table.of(["rounds", *names, "#passages", "#sentences", "calls", "tokens"], rows, notes=(ROUNDS_NOTE,))


def errors_table(variant: VariantScores, data: MultihopData, by: str) -> Table:
    """One row for each subset: which kinds of questions, or hops, it is made of (Tables 9 to 12)."""
    found = error_shares(variant, data, by)
    groups = [name for name in next(iter(found.values())) if name != "n"]
    rows = [[subset, *(percent(row[group]) for group in groups), f"{row['n']:.0f}"] for subset, row in found.items()]
    return Table.of(["subset", *groups, "n"], rows, notes=(ERRORS_NOTE,))


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
    return Table.of(header, rows, notes=(MATCH_NOTE,))


def write_prism(folder: Path, variants: Sequence[VariantScores], data: MultihopData, about: Mapping[str, Any]) -> None:
    """Write ``prism.md``, ``prism.json``, ``variants.csv``, ``rounds.csv`` and ``errors.csv``; each takes its name only
    when it is whole.

    Raises:
        DataError: the folder cannot be written.
    """
    found = as_json(variants, data, about)
    rows = [
        {"variant": name, **one["mean"], **_prefixed(one["usage"], "usage")} for name, one in found["variants"].items()
    ]
    rounds = [{"variant": name, **row} for name, one in found["variants"].items() for row in one["rounds"]]
    errors = [
        {"variant": name, "by": by, "subset": subset, "group": group, "share": share, "n": shares["n"]}
        for name, one in found["variants"].items()
        for by, subsets in one["errors"].items()
        for subset, shares in subsets.items()
        for group, share in shares.items()
        if group != "n"
    ]
    of = {name: about[name] for name in ("data", "data_hash", "corpus_hash")}
    of["corpus_passages"] = about["passages"]  # the rows have passages of their own
    write_text(folder / "prism.md", as_document(variants, data, about).as_markdown())
    write_json(folder / "prism.json", found)
    for name, lines in (("variants", rows), ("rounds", rounds), ("errors", errors)):
        write_csv(folder / f"{name}.csv", [{**line, **of} for line in lines])


def as_json(variants: Sequence[VariantScores], data: MultihopData, about: Mapping[str, Any]) -> dict[str, Any]:
    """All numbers with all their digits; a value that is missing is ``null``."""
    return without_nan({"about": dict(about), "variants": {one.name: _variant(one, data) for one in variants}})


def as_document(variants: Sequence[VariantScores], data: MultihopData, about: Mapping[str, Any]) -> Document:
    """All tables; those of rounds for the longest run, those of errors for the first variant that searches."""
    longest = longest_run(variants, data)
    sections = [
        Section("evidence", "Evidence", (evidence_table(variants),)),
        Section("answers", "Answers", (answers_table(variants),)),
        Section("cost", "Cost", (cost_table(variants),)),
    ]
    if longest is not None:
        sections.append(Section("rounds", f"Rounds of {longest.name}", (rounds_table(longest, data),)))
    sections.append(Section("match", "Recall and answers", (match_table(variants),)))
    for one in [one for one in variants if one.name not in CONTEXTS][:1]:
        sections += [
            Section(by, f"Errors of {one.name} by {by}", (errors_table(one, data, by),))
            for by in GROUPINGS
            if len({getattr(question, by) for question in data.questions}) > 1
        ]
    return Document("PRISM", tuple(sections), about, corpus_line(about))


def longest_run(variants: Iterable[VariantScores], data: MultihopData) -> VariantScores | None:
    """The variant with most rounds, the first of equals: N = 1, 2, … is read off its traces."""
    rounds = [(len(by_rounds(one, data)), one) for one in variants]
    most, found = max(rounds, key=lambda pair: pair[0], default=(0, None))
    return found if most else None


def _variant(one: VariantScores, data: MultihopData) -> dict[str, Any]:
    return {
        "n": len(one.found),
        "mean": {metric: one.mean(metric) for metric in one.scores},
        "usage": one.usage.to_json(),
        "seconds": sum(found.whole_seconds for found in one.found),
        "rounds": by_rounds(one, data),
        "recall_and_answers": recall_against_answers(one),
        "errors": {by: error_shares(one, data, by) for by in GROUPINGS},
    }


def _prefixed(row: Mapping[str, Any], name: str) -> dict[str, Any]:
    return {f"{name}_{part}": value for part, value in row.items()}
