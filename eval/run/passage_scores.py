"""Scores of systems on passages by question, group of questions, round and step; their usage and the limits reached."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from bgr.collection.search import rrf
from bgr.data.multihop.assemble import MultihopData, MultihopQuestion
from bgr.graph.evidence_graph import EvidenceGraph
from bgr.llm.usage import Price, Usage
from bgr.metrics.answers import answer_em, answer_f1
from bgr.metrics.evidence_set import recalls_at, set_scores
from bgr.metrics.ged import GedResult, graph_edit_distance
from bgr.metrics.gm_gs import graph_match, graph_structure_match
from eval.run.question_result import QuestionResult


def evidence_of(found: QuestionResult, question: MultihopQuestion) -> EvidenceGraph:
    """The system's graph, with the gold passages numbered as in the question and other passages after them.

    Of a list, the first passages count, as many as there are gold ones, each linked to the question (the protocol of
    the ReasonGraphQA paper for single-hop retrievers).
    """
    graph = found.evidence(len(question.gold) + question.missing)
    number = {one: place for place, one in enumerate(question.gold)}
    return graph.relabel(
        {node: number.setdefault(found.passages[node], len(number) + question.missing) for node in graph.nodes}
    )


def passage_scores(found: QuestionResult, question: MultihopQuestion) -> tuple[float, float, float]:
    """Precision, recall and F1 of the passages; gold passages that the corpus lacks count as not found."""
    scores = set_scores(evidence_of(found, question).nodes, range(len(question.gold)), missing=question.missing)
    return scores.precision, scores.recall, scores.f1


def graph_scores(
    found: QuestionResult, question: MultihopQuestion, ged_seconds: float
) -> tuple[float, float, GedResult]:
    """GM, GS and GED against the question's gold graph.

    Raises:
        ValueError: the question has no gold graph.
    """
    gold = question.graph
    if gold is None:
        raise ValueError(f"question {question.id} has no gold graph")
    predicted = evidence_of(found, question)
    distance = graph_edit_distance(predicted, gold, time_limit=ged_seconds)
    return float(graph_match(predicted, gold)), float(graph_structure_match(predicted, gold)), distance


KS = (2, 5, 10, 15)
"""GEAR reports 5, 10 and 15 (Table 2); 2 suits two-hop questions."""

RECALLS = tuple(f"R@{k}" for k in KS)
SETS = ("P", "R", "F1")
"""Metrics of the passages in a system's graph."""
GRAPHS = ("GM", "GS", "GED")
"""Metrics of a system's graph; GED is in edits, all others are in 0 … 1."""
ANSWERS = ("QA EM", "QA F1")
ANSWER = "answer"
"""Name of the step of a trace that answers the question."""
METRICS = (*RECALLS, *SETS, *GRAPHS, *ANSWERS)
KEY = (*RECALLS, "F1", "GM", "QA EM")
"""Metrics whose tables of pairs and groups the report shows; the CSV files have all metrics."""
GROUPINGS = ("hops", "kind", "density")
"""Fields of a question to group by."""


@dataclass(frozen=True)
class SystemScores:
    """The results of one system and its scores, ``float64 [questions]`` for each metric.

    A score is NaN if the question has no gold passages (R@k and `SETS`), no gold graph or no gold answers. Answers are
    scored if the system answered any question or its traces show that it tried; a missing answer counts 0.
    `ged_not_exact` is the number of distances that ran out of time; they count with the best edit found.
    """

    name: str
    found: tuple[QuestionResult, ...]
    scores: dict[str, np.ndarray]
    ged_not_exact: int = 0

    @property
    def usage(self) -> Usage:
        return sum((one.usage for one in self.found), Usage())

    @property
    def seconds(self) -> float:
        """Seconds for one question, as if no reply came from the cache."""
        return sum(one.whole_seconds for one in self.found) / len(self.found)


def score(
    name: str,
    found: Sequence[QuestionResult],
    data: MultihopData,
    *,
    ged_seconds: float = 1.0,
    only: Collection[str] = METRICS,
) -> SystemScores:
    """Score the results of all questions, in their order, by the metrics in `only`."""
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
    """The mean over the questions that have a score; NaN if no question has one."""
    there = scores[~np.isnan(scores)]
    return float(there.mean()) if len(there) else float("nan")


ALL = "all"
FACTS = "facts"
"""Name of the limit if facts did not fit in the prompt of the answer."""


def cut(found: QuestionResult) -> set[str]:
    """The names of the limits that were reached: ``limits`` of any step, and `FACTS` for a step with ``left_out``."""
    names: set[str] = set()
    for step in found.trace:
        limits = step.get("limits")
        names |= set(map(str, limits)) if isinstance(limits, list | tuple) else set()
        names |= {FACTS} if step.get("left_out") else set()
    return names


def cuts(system: SystemScores) -> dict[str, int]:
    """The number of questions that reached any limit (`ALL`), and the number for each limit."""
    names = [cut(one) for one in system.found]
    return {ALL: sum(map(bool, names)), **dict(sorted(Counter(name for one in names for name in one).items()))}


def groupings(data: MultihopData) -> tuple[str, ...]:
    """The fields by which the questions can be grouped; the density of triples only where it is known."""
    return tuple(by for by in GROUPINGS if by != "density" or any(one.density for one in data.questions))


def by_group(system: SystemScores, data: MultihopData, by: str) -> dict[str, dict[str, float]]:
    """``{group: {n, R@2, …}}`` of one system, sorted by group."""
    values = [getattr(question, by) for question in data.questions]
    found = {}
    for value in sorted(set(values)):
        rows = np.array([one == value for one in values])
        means = {metric: mean(column[rows]) for metric, column in system.scores.items()}
        found[str(value) or "–"] = {"n": float(rows.sum()), **means}
    return found


def by_round(system: SystemScores, data: MultihopData, *, within: bool = False) -> list[dict[str, float]]:
    """``[{round, n, calls, tokens, R@2, …}]`` of one system; empty if its traces have no rounds.

    Recall is that of the lists of all rounds so far (see `together`), without what the method adds at its end. A
    question that stopped earlier keeps its list. `n` is the number of questions with this round; calls and tokens are
    those of a question so far (see `usage_until`). With `within`, traces number the question's own passages.
    """
    rounds = [rounds_of(one, data) for one in system.found]
    everything = [passage.id for passage in data.corpus]
    rows = []
    for number in range(1, max((number for one in rounds for number in one), default=0) + 1):
        recalls = []
        for found, question, lists in zip(system.found, data.questions, rounds, strict=True):
            ids = question.context if within else everything
            places = together(found, [lists[n] for n in sorted(lists) if n <= number])
            passages = [ids[place] for place in places if place < len(ids)]
            recalls.append(recalls_at(passages, question.gold, KS, missing=question.missing))
        row = {"round": float(number), "n": float(sum(number in one for one in rounds))}
        usages = [usage_until(one, number) for one in system.found]
        row |= {name: sum(one[name] for one in usages) / len(usages) for name in ("calls", "tokens")}
        rows.append(row | {metric: mean(column) for metric, column in _columns(RECALLS, recalls).items()})
    return rows


def by_step(system: SystemScores) -> dict[str, Usage]:
    """The usage of each step of a method over all questions, from the steps of its traces that have ``usage``."""
    found: dict[str, Usage] = {}
    for one in system.found:
        for step in one.trace:
            if usage := step.get("usage"):
                name = str(step.get("step", "step"))
                found[name] = found.get(name, Usage()) + Usage(**usage)
    return found


def rounds_of(found: QuestionResult, data: MultihopData) -> dict[int, list[int]]:
    """The list of each round by its number, from 1: the last one under ``fused`` in the steps of the round."""
    rounds: dict[int, list[int]] = {}
    for step in found.trace:
        number = step.get("round")
        if type(number) is int and number > 0:
            rounds[number] = _places(step.get("fused"), len(data.corpus)) or rounds.get(number, [])
    return rounds


def _places(value: Any, size: int) -> list[int]:
    valid = isinstance(value, list | tuple) and all(type(place) is int and 0 <= place < size for place in value)
    return list(value) if valid else []


def together(found: QuestionResult, lists: Sequence[Sequence[int]]) -> list[int]:
    """The lists of the rounds as one list: rankings are fused by reciprocal rank; sets of evidence, in traces with a
    step ``round`` (PRISM's), are joined."""
    if any(step.get("step") == "round" for step in found.trace):
        return list(dict.fromkeys(place for one in lists for place in one))
    places: list[int] = rrf(lists).indices.tolist()
    return places


def usage_until(found: QuestionResult, number: int) -> dict[str, float]:
    """Calls (including cached ones) and tokens (read and written) up to the end of a round, from the steps that have
    ``round``; steps before the first round have round 0."""
    rounds = [(step.get("round"), step.get("usage") or {}) for step in found.trace]
    usage = sum((Usage(**usage) for one, usage in rounds if type(one) is int and one <= number), Usage())
    return {"calls": usage.calls + usage.cached, "tokens": sum(tokens_of(usage).values())}


def usage_of(system: SystemScores, price: Price | None = None) -> dict[str, float]:
    """Means for one question: calls, cached calls, tokens in and out, seconds, and the cost if there is a price."""
    usage, n = system.usage, len(system.found)
    counts = {"calls": usage.calls / n, "cached": usage.cached / n, **tokens_of(usage, n)}
    return {**counts, "seconds": system.seconds} | ({"cost": price.cost(usage) / n} if price is not None else {})


def tokens_of(usage: Usage, n: int = 1) -> dict[str, float]:
    """Tokens read and written for one of `n` questions; NaN if a reply has no token counts."""
    names = ("tokens_in", "tokens_out")
    return {name: math.nan if usage.uncounted else getattr(usage, name) / n for name in names}
