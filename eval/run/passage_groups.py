"""Means by hops and kind of question, and by round of the methods that go in rounds."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from bgr.collection.search import rrf
from bgr.data.multihop.assemble import MultihopData
from bgr.llm.usage import Price, Usage
from bgr.metrics.evidence_set import recalls_at
from eval.run.passage_scores import KS, RECALLS, SystemScores, mean
from eval.run.question_result import QuestionResult

GROUPINGS = ("hops", "kind")


def by_group(system: SystemScores, data: MultihopData, by: str) -> dict[str, dict[str, float]]:
    """``{group: {n, R@2, …}}`` of one system, groups in order."""
    values = [getattr(question, by) for question in data.questions]
    found = {}
    for value in sorted(set(values)):
        rows = np.array([one == value for one in values])
        found[str(value) or "–"] = {
            "n": float(rows.sum()),
            **{metric: mean(column[rows]) for metric, column in system.scores.items()},
        }
    return found


def by_round(system: SystemScores, data: MultihopData, *, within: bool = False) -> list[dict[str, float]]:
    """``[{round, n, calls, tokens, R@2, …}]`` of one system; empty where its trace tells of no rounds.

    A round's recall is that of the lists of all rounds so far together (see `together`); what the method adds at its
    end is not in it. A question that stopped earlier keeps what it had. `n` is the number of questions that went
    through the round; calls and tokens are those of a question so far (see `usage_until`).

    Args:
        system: its results.
        data: the questions.
        within: whether each question was searched for among its own passages, which its trace then numbers.
    """
    rounds = [rounds_of(one, data) for one in system.found]
    everything = [passage.id for passage in data.corpus]
    searched = [question.context if within else everything for question in data.questions]
    last = max((number for one in rounds for number in one), default=0)
    rows = []
    for number in range(1, last + 1):
        past = [[one[n] for n in sorted(one) if n <= number] for one in rounds]
        joined = [together(found, lists) for found, lists in zip(system.found, past, strict=True)]
        lists = [[ids[p] for p in one if p < len(ids)] for one, ids in zip(joined, searched, strict=True)]
        recalls = np.array(
            [recalls_at(found, q.gold, KS, missing=q.missing) for q, found in zip(data.questions, lists, strict=True)]
        )
        row = {"round": float(number), "n": float(sum(number in one for one in rounds))}
        usages = [usage_until(one, number) for one in system.found]
        row |= {name: sum(one[name] for one in usages) / len(usages) for name in ("calls", "tokens")}
        rows.append({**row, **{metric: mean(recalls[:, column]) for column, metric in enumerate(RECALLS)}})
    return rows


def by_step(system: SystemScores) -> dict[str, Usage]:
    """The usage of each step of a method in all questions, from the records of its trace that have ``usage``."""
    found: dict[str, Usage] = {}
    for one in system.found:
        for step in one.trace:
            if usage := step.get("usage"):
                name = str(step.get("step", "step"))
                found[name] = found.get(name, Usage()) + Usage(**usage)
    return found


def rounds_of(found: QuestionResult, data: MultihopData) -> dict[int, list[int]]:
    """The list of each round by its number, from 1: of the steps that have ``round``, the last list under ``fused``."""
    rounds: dict[int, list[int]] = {}
    for step in found.trace:
        number = step.get("round")
        if type(number) is int and number > 0:
            rounds[number] = _places(step.get("fused"), len(data.corpus)) or rounds.get(number, [])
    return rounds


def together(found: QuestionResult, lists: Sequence[Sequence[int]]) -> list[int]:
    """The rounds' lists as one: rankings fused by reciprocal rank; sets of evidence, which a step ``round`` ends (as
    PRISM's do), one after the other."""
    if any(step.get("step") == "round" for step in found.trace):
        return list(dict.fromkeys(place for one in lists for place in one))
    places: list[int] = rrf(lists).indices.tolist()
    return places


def usage_until(found: QuestionResult, number: int) -> dict[str, float]:
    """Calls (cached ones too) and tokens (read and written) up to the end of a round, by the steps that have ``round``;
    what comes before the first round is round 0."""
    rounds = [(step.get("round"), step.get("usage") or {}) for step in found.trace]
    usage = sum((Usage(**usage) for one, usage in rounds if type(one) is int and one <= number), Usage())
    return {"calls": usage.calls + usage.cached, "tokens": sum(tokens_of(usage).values())}


def _places(value: Any, size: int) -> list[int] | None:
    there = isinstance(value, list | tuple) and all(type(place) is int and 0 <= place < size for place in value)
    return list(value) if there else None


def usage_of(system: SystemScores, price: Price | None = None) -> dict[str, float]:
    """For one question: calls, cached, tokens in and out, seconds of all of it, and the cost where there is a price."""
    usage, n = system.usage, len(system.found)
    counts = {"calls": usage.calls / n, "cached": usage.cached / n, **tokens_of(usage, n)}
    return {**counts, "seconds": system.seconds} | ({"cost": price.cost(usage) / n} if price is not None else {})


def tokens_of(usage: Usage, n: int = 1) -> dict[str, float]:
    """Tokens read and written for one of `n` questions; NaN where not all replies were counted."""
    names = ("tokens_in", "tokens_out")
    return {name: math.nan if usage.uncounted else getattr(usage, name) / n for name in names}
