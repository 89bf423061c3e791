"""Report of BridgeRAG's ablations: rows of plain values, pure functions of what was judged, and the files made of them.

Every row of a group is of questions with gold; a group is a kind of question, or ``all``. Lists are cut at `TOP`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from scipy.stats import binomtest, spearmanr

from bgr.llm.usage import Usage
from bgr.utils.atomic_io import without_nan, write_json, write_text
from bgr.utils.hashing import hash_place
from eval.ablations.bridgerag_judged import SVO, VARIANTS, Judged
from eval.compare.passages import corpus_line
from eval.report.document import NONE, Document, Section, Table, p_text, write_csv
from eval.run.passage_scores import KS, RECALLS, mean, tokens_of
from eval.run.significance import sign_test

Row = dict[str, Any]

TOP = 5
ALL = "all"
ALPHAS = (0.05, 0.10, 0.15, 0.20)
SYSTEMS = (SVO, *VARIANTS)
PAIRS = (("full", SVO), ("full", "plain"), ("full", "svo-text"), ("full", "lowest"), ("full", "negative"))
"""The question of the tests: is the first better than the second?"""
MARKDOWN, JSON = "bridgerag.md", "bridgerag.json"

PERCENT = {*RECALLS, "difference", "churn", "win_rate", "productivity", "tune", "test", "recall"}
P_VALUES = {"p", "p_bonferroni"}
NAMES = {SVO: "A: SVO cosine alone", **VARIANTS}


def systems_rows(judged: Sequence[Judged], alpha: float) -> list[Row]:
    """R@k, failed judges, and what a question takes, of each condition and each bridge. A system that does not exist
    for a question is as if its judge had failed; `there` counts the others."""
    rows = []
    for system in SYSTEMS:
        recalls = _columns(judged, system, alpha)
        used = [one.usage[SVO] + (one.usage.get(system, Usage()) if system != SVO else Usage()) for one in judged]
        total = sum(used, Usage())
        n = max(1, len(judged))
        row: Row = {"system": system, "n": len(recalls), "there": sum(one.has(system) for one in judged)}
        row |= {metric: mean(recalls[:, column]) for column, metric in enumerate(RECALLS)}
        row |= {"calls": (total.calls + total.cached) / n, "failed": total.failed}
        rows.append(row | without_nan(tokens_of(total, n)))
    return rows


def groups_of(judged: Sequence[Judged]) -> dict[str, list[Judged]]:
    """Questions with gold: all of them, then by kind, where there are several kinds."""
    scored = [one for one in judged if one.has_gold]
    kinds = sorted({one.question.kind for one in scored})
    by_kind = {kind or "–": [one for one in scored if one.question.kind == kind] for kind in kinds}
    return {ALL: scored, **(by_kind if len(kinds) > 1 else {})}


def sign_rows(judged: Sequence[Judged], alpha: float) -> list[Row]:
    """One-sided exact sign tests of R@5 for each pair and group, over the questions that have both lists.

    `p_bonferroni` is p times the number of kinds, at most 1, and p itself for ``all``.
    """
    groups = groups_of(judged)
    kinds = max(1, len(groups) - 1)
    rows = []
    for first, second in PAIRS:
        for group, members in groups.items():
            both = [one for one in members if one.has(first) and one.has(second)]
            a, b = _at_top(both, first, alpha), _at_top(both, second, alpha)
            signs = sign_test(a, b)
            p = one_sided(signs.better, signs.worse)
            row: Row = {"first": first, "second": second, "group": group, "n": len(both), "difference": mean(a - b)}
            row |= {"better": signs.better, "worse": signs.worse, "equal": signs.equal, "p": p}
            rows.append(row | {"p_bonferroni": p if group == ALL else min(1.0, p * kinds)})
    return rows


def one_sided(better: int, worse: int) -> float:
    """P of so many better ones or more where better is as likely as worse; 1 where there are only ties."""
    return float(binomtest(better, better + worse, alternative="greater").pvalue) if better + worse else 1.0


def flips_rows(judged: Sequence[Judged], alpha: float) -> list[Row]:
    """Changes made by the bridge (C against B), by group.

    A question flips where the sets of the first five differ; a flip wins where R@5 rises, loses where it falls.
    `churn` is flips / n, `win_rate` wins / n, `productivity` wins / flips (NaN without flips).
    """
    rows = []
    for group, members in groups_of(judged).items():
        both = [one for one in members if one.has("full")]
        flipped = [set(one.ranked("full", alpha)[:TOP]) != set(one.ranked("plain", alpha)[:TOP]) for one in both]
        gain = _gain(both, alpha)
        wins, losses, flips = int((gain > 1e-12).sum()), int((gain < -1e-12).sum()), sum(flipped)
        row: Row = {"group": group, "n": len(both), "flips": flips, "wins": wins, "losses": losses}
        row |= {"churn": _share(flips, len(both)), "win_rate": _share(wins, len(both))}
        rows.append(row | {"productivity": _share(wins, flips)})
    return rows


def proximity_rows(judged: Sequence[Judged], alpha: float) -> list[Row]:
    """Spearman's ρ of cos(b, g2) with the gain of the bridge, R@5 of C − R@5 of B; p is two-sided."""
    return [
        {"group": group, "n": n, "mean_cosine": middle, "rho": rho, "p": p}
        for group, (n, middle, rho, p) in _correlations(judged, alpha, "proximity").items()
    ]


def diversity_rows(judged: Sequence[Judged], alpha: float) -> list[Row]:
    """The pool by group: its size, titles, recall, mean distance of two candidates, and ρ of that with the gain."""
    found = _correlations(judged, alpha, "spread")
    rows = []
    for group, members in groups_of(judged).items():
        sizes = np.array([float(len(one.places)) for one in members])
        titles = np.array([float(one.titles) for one in members])
        held = np.array([one.recall(SVO, alpha, [max(1, len(one.places))])[0] for one in members])
        n, middle, rho, p = found[group]
        row: Row = {"group": group, "n": len(members), "size": mean(sizes), "titles": mean(titles)}
        rows.append(row | {"recall": mean(held), "spread": middle, "n_spread": n, "rho": rho, "p": p})
    return rows


def alpha_rows(judged: Sequence[Judged]) -> list[Row]:
    """R@5 of C for each α on two disjoint halves of the questions; `chosen` is the best on tune, of equals the least.

    A question is in tune or test by the SHA-256 of its id (`bgr.utils.hashing`, shares 1 : 1).
    """
    scored = [one for one in judged if one.has_gold and one.has("full")]
    tune = [one for one in scored if hash_place(one.question.id, (1, 1)) == 0]
    test = [one for one in scored if hash_place(one.question.id, (1, 1)) == 1]
    rows: list[Row] = [
        {
            "alpha": alpha,
            "n_tune": len(tune),
            "tune": mean(_at_top(tune, "full", alpha)),
            "n_test": len(test),
            "test": mean(_at_top(test, "full", alpha)),
        }
        for alpha in ALPHAS
    ]
    best = max(rows, key=lambda row: (row["tune"], -row["alpha"])) if tune else None
    return [{**row, "chosen": row is best} for row in rows]


def _columns(judged: Sequence[Judged], system: str, alpha: float) -> np.ndarray:
    """R@k ``[questions with gold, len(KS)]``; condition A's where the system does not exist."""
    rows = [one.recall(system if one.has(system) else SVO, alpha, KS) for one in judged if one.has_gold]
    return np.array(rows).reshape(-1, len(KS))


def _at_top(judged: Sequence[Judged], system: str, alpha: float) -> np.ndarray:
    return np.array([one.recall(system, alpha, (TOP,))[0] for one in judged])


def _gain(judged: Sequence[Judged], alpha: float) -> np.ndarray:
    return _at_top(judged, "full", alpha) - _at_top(judged, "plain", alpha)


def _correlations(judged: Sequence[Judged], alpha: float, name: str) -> dict[str, tuple[int, float, float, float]]:
    """By group: questions with a value, its mean, ρ with the gain, p; NaN where one of the two does not vary."""
    found = {}
    for group, members in groups_of(judged).items():
        there = [one for one in members if one.has("full") and not np.isnan(getattr(one, name))]
        values, gain = np.array([getattr(one, name) for one in there]), _gain(there, alpha)
        rho, p = float("nan"), float("nan")
        if len(there) > 2 and np.ptp(values) > 0 and np.ptp(gain) > 0:
            rho, p = map(float, spearmanr(values, gain))
        found[group] = (len(there), mean(values), rho, p)
    return found


def _share(part: int, whole: int) -> float:
    return part / whole if whole else float("nan")


@dataclass(frozen=True)
class Study:
    """The rows of one experiment: the name of its file, its title, the meaning of its columns."""

    name: str
    title: str
    note: str
    rows: Sequence[Row]

    @property
    def table(self) -> Table:
        header = list(self.rows[0]) if self.rows else []
        return Table.of(header, [[_cell(*item) for item in row.items()] for row in self.rows], notes=(self.note,))


def studies_of(judged: Sequence[Judged], alpha: float) -> list[Study]:
    """All experiments; `alpha` is the weight of the SVO cosine in all but the sweep."""
    return [
        Study(
            "systems",
            "Conditions and bridges on one pool",
            "R@k in percent. Calls and tokens are those of one question, cached calls included; failed are steps of "
            "all questions, after which the order is that of condition A. there: questions that have such a bridge.",
            systems_rows(judged, alpha),
        ),
        Study(
            "tests",
            "Is the first better?",
            "Exact one-sided sign tests of R@5; difference in points. p_bonferroni is p times the number of kinds.",
            sign_rows(judged, alpha),
        ),
        Study(
            "flips",
            "Flip productivity (C against B)",
            "A flip: another set of first five. churn = flips / n, win_rate = wins / n, productivity = wins / flips, "
            "in percent.",
            flips_rows(judged, alpha),
        ),
        Study(
            "proximity",
            "Bridge proximity",
            "Spearman's ρ of the mean cosine of bridge and other gold passages with the gain R@5(C) − R@5(B).",
            proximity_rows(judged, alpha),
        ),
        Study(
            "diversity",
            "Pool diversity",
            "Mean size of the pool, titles in it, its recall in percent, mean 1 − cosine of two candidates, and "
            "Spearman's ρ of that with the gain.",
            diversity_rows(judged, alpha),
        ),
        Study(
            "alpha",
            "Weight of the SVO cosine (C)",
            "R@5 in percent on two disjoint halves, by the hash of the question's id; chosen on tune.",
            alpha_rows(judged),
        ),
    ]


def as_document(studies: Sequence[Study], about: Mapping[str, Any]) -> Document:
    """All tables, then what was run."""
    sections = [Section(one.name, one.title, (one.table,) if one.rows else (one.note,)) for one in studies]
    return Document("BridgeRAG: ablations", tuple(sections), about, corpus_line(about))


def write_report(folder: Path, studies: Sequence[Study], about: Mapping[str, Any]) -> None:
    """Write ``bridgerag.md``, ``bridgerag.json`` and a CSV for each table; each takes its name only when it is whole.

    Raises:
        DataError: the folder cannot be written.
    """
    found = {"about": dict(about), **{one.name: one.rows for one in studies}}
    write_text(folder / MARKDOWN, as_document(studies, about).as_markdown())
    write_json(folder / JSON, found)
    of = {name: about[name] for name in ("data", "data_hash", "passages", "corpus_hash")}
    for one in studies:
        write_csv(folder / f"{one.name}.csv", [{**row, **of} for row in one.rows])


def _cell(name: str, value: Any) -> str:
    if isinstance(value, str):
        return NAMES.get(value, value)
    if isinstance(value, bool):
        return "yes" if value else ""
    if isinstance(value, int):
        return str(value)
    if value is None or math.isnan(value):
        return NONE
    if name in P_VALUES:
        return p_text(value)
    return f"{100 * value:.1f}" if name in PERCENT else f"{value:.3g}" if abs(value) < 100 else f"{value:.0f}"
