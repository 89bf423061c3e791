"""Report of the ablations of PRISM: evidence, answers, cost, rounds and errors, as files."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import Any

from bgr.data.multihop.assemble import MultihopData
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

VARIANTS: Mapping[str, Mapping[str, Any]] = {
    "prism": {},
    "no-analyser": {"analyser": False},
    "no-adder": {"agents": ("selector",), "start": "all", "rounds": 1},
    "no-selector": {"agents": ("adder",)},
    "no-draft": {"start": "none"},
    "selector-first": {"agents": ("selector", "adder"), "start": "all"},
    "four-rounds": {"rounds": 4},
    "whole-passages": {"whole_passages": True},
}
"""Ablations of PRISM by name, with the settings that they change: ``no-analyser`` and ``no-adder`` (one selection
from all sentences) are those of Table 6,
``four-rounds`` gives Table 15 for N = 1 … 4, ``whole-passages`` is Table 8, and the others are ours."""

CONTEXTS = ("full-context", "oracle")
"""Contexts for the same answer generator: all candidates, and the gold sentences (gold passages without them)."""

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
    sets = _set_titles(one.mean(FACTS[1]) for one in variants)
    header = ["variant", *sets.values()]
    header += ["#passages", "#sentences", "left (sent.)", "left (words)", "dropped", "n"]
    rows = []
    for one in _searching(variants):
        row = [one.name, *(percent(one.mean(metric)) for metric in sets)]
        row += [f"{one.mean(metric):.2f}" for metric in ("passages", "sentences")]
        row += [percent(one.mean(metric)) for metric in ("sentences_left", "words_left")]
        rows.append([*row, f"{one.mean('hallucinated'):.2f}", str(len(one.found))])
    return Table.of(header, rows, notes=(EVIDENCE_NOTE,))


def _searching(variants: Iterable[VariantScores]) -> list[VariantScores]:
    return [one for one in variants if one.name not in CONTEXTS]


def _set_titles(fact_recalls: Iterable[float]) -> dict[str, str]:
    """Columns of precision, recall and F1 by metric; those of sentences only if some recall is known."""
    titles = dict(zip(PASSAGES, ("P", "R", "F1"), strict=True))
    if not all(map(math.isnan, fact_recalls)):
        titles |= dict(zip(FACTS, ("fact-P", "fact-R", "fact-F1"), strict=True))
    return titles


def answers_table(variants: Sequence[VariantScores]) -> Table:
    """One row for each variant and context (Tables 3, 7 and 8)."""
    rows = []
    for one in variants:
        answered = sum(found.answer is not None for found in one.found) / max(1, len(one.found))
        scores = [one.mean(metric) for metric in ANSWERS]
        rows.append([one.name, *map(percent, [*scores, answered]), str(len(one.found))])
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
    """One row for each N (Table 15); no rows if the traces have no rounds."""
    found = by_rounds(variant, data)
    sets = _set_titles(row[FACTS[1]] for row in found)
    rows = []
    for row in found:
        cells = [f"N = {row['rounds']:.0f}", *(percent(row[metric]) for metric in sets)]
        cells += [f"{row[name]:.2f}" for name in ("passages", "sentences")]
        rows.append([*cells, f"{row['calls']:.1f}", number_text(row["tokens"])])
    header = ["rounds", *sets.values(), "#passages", "#sentences", "calls", "tokens"]
    return Table.of(header, rows, notes=(ROUNDS_NOTE,))


def errors_table(variant: VariantScores, data: MultihopData, by: str) -> Table:
    """One row for each subset: the shares of kinds of questions, or of hops (Tables 9 to 12)."""
    found = error_shares(variant, data, by)
    groups = [name for name in next(iter(found.values())) if name != "n"]
    rows = [[subset, *(percent(row[group]) for group in groups), f"{row['n']:.0f}"] for subset, row in found.items()]
    return Table.of(["subset", *groups, "n"], rows, notes=(ERRORS_NOTE,))


def match_table(variants: Sequence[VariantScores]) -> Table:
    """One row for each variant that searches: recall against answers (Table 13)."""
    columns = (
        ("wrong at R = 1", "wrong_at_complete", "n (R = 1)", "complete"),
        ("right at R < 1", "right_at_incomplete", "n (R < 1)", "incomplete"),
        ("of the wrong at R = 1", "complete_of_wrong", "n (wrong)", "wrong"),
    )
    rows = []
    for one in _searching(variants):
        found = recall_against_answers(one)
        cells = [(percent(found[share]), f"{found[count]:.0f}") for _, share, _, count in columns]
        rows.append([one.name, *chain.from_iterable(cells)])
    header = ["variant", *chain.from_iterable((share, count) for share, _, count, _ in columns)]
    return Table.of(header, rows, notes=(MATCH_NOTE,))


def write_prism(folder: Path, variants: Sequence[VariantScores], data: MultihopData, about: Mapping[str, Any]) -> None:
    """Write ``prism.md``, ``prism.json``, ``variants.csv``, ``rounds.csv`` and ``errors.csv``, each atomically.

    Raises:
        DataError: the folder cannot be written.
    """
    found = as_json(variants, data, about)
    rows, rounds, errors = [], [], []
    for name, one in found["variants"].items():
        usage = {f"usage_{part}": value for part, value in one["usage"].items()}
        rows.append({"variant": name, **one["mean"], **usage})
        rounds += [{"variant": name, **row} for row in one["rounds"]]
        errors += [
            {"variant": name, "by": by, "subset": subset, "group": group, "share": share, "n": shares["n"]}
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
    """All numbers, unrounded; a missing value is ``None``."""
    found = {
        one.name: {
            "n": len(one.found),
            "mean": {metric: one.mean(metric) for metric in one.scores},
            "usage": one.usage.to_json(),
            "seconds": sum(found.whole_seconds for found in one.found),
            "rounds": by_rounds(one, data),
            "recall_and_answers": recall_against_answers(one),
            "errors": {by: error_shares(one, data, by) for by in GROUPINGS},
        }
        for one in variants
    }
    return without_nan({"about": dict(about), "variants": found})


def as_document(variants: Sequence[VariantScores], data: MultihopData, about: Mapping[str, Any]) -> Document:
    """All tables: rounds for the variant with most of them, errors for the first variant that searches."""
    longest = longest_run(variants, data)
    sections = [
        Section("evidence", "Evidence", (evidence_table(variants),)),
        Section("answers", "Answers", (answers_table(variants),)),
        Section("cost", "Cost", (cost_table(variants),)),
    ]
    if longest is not None:
        sections.append(Section("rounds", f"Rounds of {longest.name}", (rounds_table(longest, data),)))
    sections.append(Section("match", "Recall and answers", (match_table(variants),)))
    for one in _searching(variants)[:1]:
        sections += [
            Section(by, f"Errors of {one.name} by {by}", (errors_table(one, data, by),))
            for by in GROUPINGS
            if len({getattr(question, by) for question in data.questions}) > 1
        ]
    return Document("PRISM", tuple(sections), about, corpus_line(about))


def longest_run(variants: Iterable[VariantScores], data: MultihopData) -> VariantScores | None:
    """The first variant with most rounds; ``None`` if there are no rounds."""
    rounds = [(len(by_rounds(one, data)), one) for one in variants]
    most, found = max(rounds, key=lambda pair: pair[0], default=(0, None))
    return found if most else None
