"""Report of BridgeRAG's ablations: the judged questions as the log keeps them, rows of plain values, and files."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from scipy.stats import binomtest, spearmanr

from bgr.data.multihop.assemble import MultihopData, MultihopQuestion
from bgr.errors import DataError
from bgr.llm.usage import Usage
from bgr.metrics.evidence_set import recalls_at
from bgr.retrievers.bridgerag.pool import fuse, ranked
from bgr.utils.atomic_io import without_nan, write_json, write_text
from bgr.utils.hashing import hash_place
from eval.compare.passages import corpus_line
from eval.report.document import NONE, Document, Section, Table, p_text, write_csv
from eval.run.passage_scores import KS, RECALLS, mean, tokens_of
from eval.run.question_result import QuestionResult
from eval.run.significance import sign_test

Row = dict[str, Any]

VARIANTS: Mapping[str, str] = {
    "plain": "B: no bridge",
    "full": "C: the bridge",
    "svo-text": "C, the second-hop queries for the bridge",
    "lowest": "C, the pool's passage of lowest SVO cosine for the bridge",
    "negative": "C, the best-ranked wrong passage for the bridge",
}
"""Judges by name. The entities are those of the real bridge in all but the first."""

SVO = "svo"
"""Condition A: the order by cosine alone, without a judge."""

TOP, ALL = 5, "all"
ALPHAS = (0.05, 0.10, 0.15, 0.20)
PAIRS = (("full", SVO), ("full", "plain"), ("full", "svo-text"), ("full", "lowest"), ("full", "negative"))
"""The question of the tests: is the first better than the second?"""
MARKDOWN, JSON = "bridgerag.md", "bridgerag.json"

PERCENT = {*RECALLS, "difference", "churn", "win_rate", "productivity", "tune", "test", "recall"}
NAMES = {SVO: "A: SVO cosine alone", **VARIANTS}


@dataclass(frozen=True)
class Judged:
    """A question with its pool of candidates, by `places` in the corpus and by ids (`pool`), and the verdicts of the
    judges. `titles` is the number of different titles in the pool, `svo` each candidate's best cosine to a second-hop
    query (``None`` if unknown), and `scores` are those of each variant's judge (``None`` if it failed). `usage` is that
    of the pool under ``svo``, and of each variant's judge. `proximity` is the mean cosine of the bridge with the gold
    passages other than itself (NaN if there is none), `spread` the mean distance of two candidates (NaN if unknown)."""

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
        """True if the recall is a number."""
        return bool(self.question.gold) or self.question.missing > 0

    def has(self, system: str) -> bool:
        """True if the question has a ranking by that variant (always for condition A)."""
        return system == SVO or system in self.scores

    def ranked(self, system: str, alpha: float) -> list[str]:
        """The pool's ids in the order of a variant, with `alpha` as the weight of the cosine."""
        fused = fuse(None if system == SVO else self.scores[system], self.svo, alpha)
        return [self.pool[n] for n in ranked(self.places, fused.scores)]

    def recall(self, system: str, alpha: float, ks: Sequence[int]) -> np.ndarray:
        """R@k of `ranked`, float64 [len(ks)]; NaN without gold."""
        return recalls_at(self.ranked(system, alpha), self.question.gold, ks, missing=self.question.missing)

    @classmethod
    def of(cls, question: MultihopQuestion, found: QuestionResult, data: MultihopData) -> Judged:
        """Read from a result of the log.

        Raises:
            DataError: the trace is of another method, damaged, or was made with other gold passages.
        """
        try:
            steps = {step["step"]: step for step in found.trace}
            judges = {step["variant"]: step for step in found.trace if step["step"] == "judge"}
            places, near = tuple(map(int, steps["pool"]["places"])), steps["near"]
            gold = [data.corpus.index_of[id] for id in question.gold]
            if not set(gold) <= set(near["gold"]):
                problem = "made with other gold passages; give another --out or --overwrite"
                raise DataError(f"result of {question.id}: {problem}")
            before = [step for step in found.trace if step["step"] in ("queries", "entities")]
            passages = [data.corpus[place] for place in places]
            return cls(
                question=question,
                places=places,
                pool=tuple(passage.id for passage in passages),
                titles=len({passage.title for passage in passages}),
                svo=_numbers(steps["pool"]["svo"], len(places)),
                scores={name: _scores(judges[name], len(places)) for name in VARIANTS if name in judges},
                usage={name: _usage([step]) for name, step in judges.items()} | {SVO: _usage(before)},
                proximity=_proximity(near, gold, steps["first"]["bridge"]),
                spread=math.nan if near["spread"] is None else float(near["spread"]),
            )
        except (KeyError, IndexError, TypeError, ValueError, AttributeError) as error:
            raise DataError(f"result of {question.id}: no trace of BridgeRAG's experiments: {error!r}") from None


def _numbers(values: Sequence[Any], count: int) -> tuple[float | None, ...]:
    numbers = tuple(None if value is None else float(value) for value in values)
    if len(numbers) != count or not all(number is None or math.isfinite(number) for number in numbers):
        raise ValueError(f"not {count} finite numbers")
    return numbers


def _usage(steps: Sequence[Mapping[str, Any]]) -> Usage:
    return sum((Usage(**step["usage"]) for step in steps), Usage())  # raises if a field is not a number


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


def systems_rows(judged: Sequence[Judged], alpha: float) -> list[Row]:
    """R@k, failed judges and usage per question of each condition and bridge. A system that does not exist for a
    question counts as if its judge had failed; `there` counts the others."""
    rows = []
    for system in NAMES:
        lists = [one.recall(system if one.has(system) else SVO, alpha, KS) for one in judged if one.has_gold]
        recalls = np.array(lists).reshape(-1, len(KS))
        parts = dict.fromkeys((SVO, system))
        total, n = sum((one.usage.get(part, Usage()) for one in judged for part in parts), Usage()), max(1, len(judged))
        row: Row = {"system": system, "n": len(recalls), "there": sum(one.has(system) for one in judged)}
        row |= {metric: mean(recalls[:, column]) for column, metric in enumerate(RECALLS)}
        row |= {"calls": (total.calls + total.cached) / n, "failed": total.failed}
        rows.append(row | without_nan(tokens_of(total, n)))
    return rows


def groups_of(judged: Sequence[Judged]) -> dict[str, list[Judged]]:
    """Questions with gold: all of them, then by kind if there are several kinds."""
    scored = [one for one in judged if one.has_gold]
    kinds = sorted({one.question.kind for one in scored})
    by_kind = {kind or "–": [one for one in scored if one.question.kind == kind] for kind in kinds}
    return {ALL: scored, **(by_kind if len(kinds) > 1 else {})}


def sign_rows(judged: Sequence[Judged], alpha: float) -> list[Row]:
    """One-sided exact sign tests of R@5 for each pair and group, over the questions that have both rankings.

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
    """The p-value of the one-sided sign test; 1 if there are only ties."""
    return float(binomtest(better, better + worse, alternative="greater").pvalue) if better + worse else 1.0


def flips_rows(judged: Sequence[Judged], alpha: float) -> list[Row]:
    """Changes made by the bridge (C against B), by group.

    A question flips if the sets of the first five differ; a flip wins if R@5 rises and loses if it falls.
    `churn` is flips / n, `win_rate` wins / n, `productivity` wins / flips (NaN without flips).
    """
    rows = []
    for group, members in groups_of(judged).items():
        both = [one for one in members if one.has("full")]
        flipped = [set(one.ranked("full", alpha)[:TOP]) != set(one.ranked("plain", alpha)[:TOP]) for one in both]
        gain = _gain(both, alpha)
        wins, losses, flips = int((gain > 1e-12).sum()), int((gain < -1e-12).sum()), sum(flipped)
        row: Row = {"group": group, "n": len(both), "flips": flips, "wins": wins, "losses": losses}
        shares = {"churn": (flips, len(both)), "win_rate": (wins, len(both)), "productivity": (wins, flips)}
        rows.append(row | {name: part / whole if whole else math.nan for name, (part, whole) in shares.items()})
    return rows


def proximity_rows(judged: Sequence[Judged], alpha: float) -> list[Row]:
    """Spearman's ρ of cos(b, g2) with the gain of the bridge, R@5 of C − R@5 of B; p is two-sided."""
    rows = []
    for group, members in groups_of(judged).items():
        n, middle, rho, p = _correlation(members, alpha, "proximity")
        rows.append({"group": group, "n": n, "mean_cosine": middle, "rho": rho, "p": p})
    return rows


def diversity_rows(judged: Sequence[Judged], alpha: float) -> list[Row]:
    """The pool by group: its size, titles, recall, mean distance of two candidates, and ρ of that with the gain."""
    rows = []
    for group, members in groups_of(judged).items():
        sizes, titles = np.array([(len(one.places), one.titles) for one in members], dtype=float).reshape(-1, 2).T
        held = np.array([one.recall(SVO, alpha, [max(1, len(one.places))])[0] for one in members])
        n, middle, rho, p = _correlation(members, alpha, "spread")
        row: Row = {"group": group, "n": len(members), "size": mean(sizes), "titles": mean(titles)}
        rows.append(row | {"recall": mean(held), "spread": middle, "n_spread": n, "rho": rho, "p": p})
    return rows


def alpha_rows(judged: Sequence[Judged]) -> list[Row]:
    """R@5 of C for each α on two disjoint halves of the questions, split by the SHA-256 of their ids; `chosen` is the
    best on tune, the lowest of equals."""
    halves: tuple[list[Judged], list[Judged]] = ([], [])
    for one in judged:
        if one.has_gold and one.has("full"):
            halves[hash_place(one.question.id, (1, 1))].append(one)
    rows: list[Row] = []
    for alpha in ALPHAS:
        tune, test = (mean(_at_top(half, "full", alpha)) for half in halves)
        rows.append({"alpha": alpha, "n_tune": len(halves[0]), "tune": tune, "n_test": len(halves[1]), "test": test})
    best = max(rows, key=lambda row: (row["tune"], -row["alpha"])) if halves[0] else None
    return [{**row, "chosen": row is best} for row in rows]


def _at_top(judged: Sequence[Judged], system: str, alpha: float) -> np.ndarray:
    return np.array([one.recall(system, alpha, (TOP,))[0] for one in judged])


def _gain(judged: Sequence[Judged], alpha: float) -> np.ndarray:
    return _at_top(judged, "full", alpha) - _at_top(judged, "plain", alpha)


def _correlation(judged: Sequence[Judged], alpha: float, name: str) -> tuple[int, float, float, float]:
    """Number of questions with a value, its mean, ρ with the gain, p; NaN if one of the two does not vary."""
    there = [one for one in judged if one.has("full") and not np.isnan(getattr(one, name))]
    values, gain = np.array([getattr(one, name) for one in there]), _gain(there, alpha)
    rho = p = math.nan
    if len(there) > 2 and np.ptp(values) > 0 and np.ptp(gain) > 0:
        rho, p = map(float, spearmanr(values, gain))
    return len(there), mean(values), rho, p


NOTES = {
    "systems": "R@k in percent. Calls and tokens are those of one question, cached calls included; failed are steps of "
    "all questions, after which the order is that of condition A. there: questions that have such a bridge.",
    "tests": "Exact one-sided sign tests of R@5; difference in points. p_bonferroni is p times the number of kinds.",
    "flips": "A flip: another set of first five. churn = flips / n, win_rate = wins / n, productivity = wins / flips, "
    "in percent.",
    "proximity": "Spearman's ρ of the mean cosine of bridge and other gold passages with the gain R@5(C) − R@5(B).",
    "diversity": "Mean size of the pool, titles in it, its recall in percent, mean 1 − cosine of two candidates, and "
    "Spearman's ρ of that with the gain.",
    "alpha": "R@5 in percent on two disjoint halves, by the hash of the question's id; chosen on tune.",
}
"""The meaning of the columns of each study."""


@dataclass(frozen=True)
class Study:
    """The rows of one experiment; `name` is that of its file."""

    name: str
    title: str
    rows: Sequence[Row]

    @property
    def note(self) -> str:
        return NOTES[self.name]

    @property
    def table(self) -> Table:
        header = list(self.rows[0]) if self.rows else []
        return Table.of(header, [[_cell(*item) for item in row.items()] for row in self.rows], notes=(self.note,))


def studies_of(judged: Sequence[Judged], alpha: float) -> list[Study]:
    """All experiments, with `alpha` as the weight of the SVO cosine in all but the sweep."""
    return [
        Study("systems", "Conditions and bridges on one pool", systems_rows(judged, alpha)),
        Study("tests", "Is the first better?", sign_rows(judged, alpha)),
        Study("flips", "Flip productivity (C against B)", flips_rows(judged, alpha)),
        Study("proximity", "Bridge proximity", proximity_rows(judged, alpha)),
        Study("diversity", "Pool diversity", diversity_rows(judged, alpha)),
        Study("alpha", "Weight of the SVO cosine (C)", alpha_rows(judged)),
    ]


def as_document(studies: Sequence[Study], about: Mapping[str, Any]) -> Document:
    sections = [Section(one.name, one.title, (one.table,) if one.rows else (one.note,)) for one in studies]
    return Document("BridgeRAG: ablations", tuple(sections), about, corpus_line(about))


def write_report(folder: Path, studies: Sequence[Study], about: Mapping[str, Any]) -> None:
    """Write ``bridgerag.md``, ``bridgerag.json`` and a CSV file for each table, each atomically.

    Raises:
        DataError: the folder cannot be written.
    """
    write_text(folder / MARKDOWN, as_document(studies, about).as_markdown())
    write_json(folder / JSON, {"about": dict(about), **{one.name: one.rows for one in studies}})
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
    if name in ("p", "p_bonferroni"):
        return p_text(value)
    return f"{100 * value:.1f}" if name in PERCENT else f"{value:.3g}" if abs(value) < 100 else f"{value:.0f}"
