"""Scores of systems on passages, question by question, and the questions that a limit cut short."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from bgr.data.multihop.assemble import MultihopData, MultihopQuestion
from bgr.graph.evidence_graph import ROOT, EvidenceGraph
from bgr.llm.usage import Usage
from bgr.metrics.answers import answer_em, answer_f1
from bgr.metrics.evidence_set import recalls_at, set_scores
from bgr.metrics.ged import GedResult, graph_edit_distance
from bgr.metrics.gm_gs import graph_match, graph_structure_match
from eval.run.question_result import QuestionResult


def evidence_of(found: QuestionResult, question: MultihopQuestion) -> EvidenceGraph:
    """The system's graph, its passages numbered as the gold passages are, others after them.

    A system without a graph gives a list: its first passages count, as many as there are gold ones, each from the
    question (the protocol of the ReasonGraphQA paper for single-hop retrievers).
    """
    number = {one: place for place, one in enumerate(question.gold)}
    if found.graph is None:
        first = found.passages[: len(question.gold) + question.missing]
        return EvidenceGraph((ROOT, number.setdefault(one, len(number) + question.missing)) for one in first)
    nodes = found.graph.nodes
    return found.graph.relabel(
        {node: number.setdefault(found.passages[node], len(number) + question.missing) for node in nodes}
    )


def passage_scores(found: QuestionResult, question: MultihopQuestion) -> tuple[float, float, float]:
    """Precision, recall and F1 of the passages; gold passages that the corpus lacks are not found."""
    scores = set_scores(evidence_of(found, question).nodes, range(len(question.gold)), missing=question.missing)
    return scores.precision, scores.recall, scores.f1


def graph_scores(
    found: QuestionResult, question: MultihopQuestion, ged_seconds: float
) -> tuple[float, float, GedResult]:
    """GM, GS and GED against the question's gold graph.

    Raises:
        ValueError: the question has none.
    """
    gold = question.graph
    if gold is None:
        raise ValueError(f"question {question.id} has no gold graph")
    predicted = evidence_of(found, question)
    distance = graph_edit_distance(predicted, gold, time_limit=ged_seconds)
    return float(graph_match(predicted, gold)), float(graph_structure_match(predicted, gold)), distance


KS = (2, 5, 10, 15)
"""GEAR's are 5, 10 and 15 (its Table 2); 2 is that of two-hop questions."""

RECALLS = tuple(f"R@{k}" for k in KS)
SETS = ("P", "R", "F1")
"""Metrics of the passages that a system takes for the evidence."""
GRAPHS = ("GM", "GS", "GED")
"""Metrics of its graph; all but GED, in edits, are shares of 1."""
ANSWERS = ("QA EM", "QA F1")
ANSWER = "answer"
"""The step of a trace in which a question is answered."""
METRICS = (*RECALLS, *SETS, *GRAPHS, *ANSWERS)
KEY = (*RECALLS, "F1", "GM", "QA EM")
"""Those that are written out pair by pair and group by group; the files of values have all."""
GED_SECONDS = 1.0
"""Limit of one edit distance; where it is reached the best edit found counts."""


@dataclass(frozen=True)
class SystemScores:
    """One system: its results, and ``float64 [questions]`` for each metric, NaN where a question has no gold (R@k and
    sets), no gold graph or no answers. Answers are scored where the system answered some question or its traces say
    that it tried; one that it did not answer counts 0. `ged_not_exact` counts the distances that ran out of time."""

    name: str
    found: tuple[QuestionResult, ...]
    scores: dict[str, np.ndarray]
    ged_not_exact: int = 0

    @property
    def usage(self) -> Usage:
        """The usage of all questions."""
        return sum((one.usage for one in self.found), Usage())

    @property
    def seconds(self) -> float:
        """For one question, as if no reply had come from the cache."""
        return sum(one.whole_seconds for one in self.found) / len(self.found)


def score(
    name: str,
    found: Sequence[QuestionResult],
    data: MultihopData,
    *,
    ged_seconds: float = GED_SECONDS,
    only: Collection[str] = METRICS,
) -> SystemScores:
    """Score the results of all questions, in their order, by those of the metrics that are wanted."""
    pairs = list(zip(data.questions, found, strict=True))
    recalls = np.array([recalls_at(one.passages, q.gold, KS, missing=q.missing) for q, one in pairs])
    sets = [passage_scores(one, q) if q.gold or q.missing else (np.nan,) * 3 for q, one in pairs]
    scores = _columns(RECALLS, recalls) | _columns(SETS, sets)
    not_exact = 0
    if set(GRAPHS) & set(only) and any(q.graph is not None for q in data.questions):
        graphs = [graph_scores(one, q, ged_seconds) if q.graph is not None else None for q, one in pairs]
        rows = [(np.nan,) * 3 if row is None else (row[0], row[1], row[2].upper) for row in graphs]
        scores |= _columns(GRAPHS, rows)
        not_exact = sum(row is not None and not row[2].exact for row in graphs)
    if any(one.answer is not None or any(step.get("step") == ANSWER for step in one.trace) for one in found):
        for metric, function in zip(ANSWERS, (answer_em, answer_f1), strict=True):
            scores[metric] = np.array([function(one.answer, q.answers) if q.answers else np.nan for q, one in pairs])
    return SystemScores(name, tuple(found), {m: one for m, one in scores.items() if m in only}, not_exact)


def _columns(names: Sequence[str], rows: Any) -> dict[str, np.ndarray]:
    table = np.array(rows, dtype=np.float64).reshape(-1, len(names))
    return {name: table[:, column] for column, name in enumerate(names)}


def mean(scores: np.ndarray) -> float:
    """Over the questions that have a score; NaN where none has."""
    there = scores[~np.isnan(scores)]
    return float(there.mean()) if len(there) else float("nan")


ALL = "all"
FACTS = "facts"
"""Name of the limit where the prompt of the answer had no room for facts."""


def cut(found: QuestionResult) -> set[str]:
    """The names of the limits that were reached: ``limits`` of any step, and `FACTS` where one has ``left_out``."""
    names: set[str] = set()
    for step in found.trace:
        limits = step.get("limits")
        names |= set(map(str, limits)) if isinstance(limits, list | tuple) else set()
        names |= {FACTS} if step.get("left_out") else set()
    return names


def cuts(system: SystemScores) -> dict[str, int]:
    """The number of questions that reached any limit (`ALL`), and each limit, by its name."""
    names = [cut(one) for one in system.found]
    return {ALL: sum(map(bool, names)), **dict(sorted(Counter(name for one in names for name in one).items()))}
