"""Means by hops and kind of question, and by round of the methods that go in rounds."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from bgr.llm.usage import Price, Usage
from bgr.metrics.ranking import recalls_at
from bgr.multihop.data import MultihopData
from bgr.search.fusion import rrf
from eval.passages.found import Found
from eval.passages.score import KS, RECALLS, SystemScores, mean

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

    A round's recall is that of the lists of all rounds so far, fused by reciprocal rank; what the method adds at its
    end is not in it. A question that stopped earlier keeps what it had. `n` is the number of questions that went
    through the round; calls (cached ones too) and tokens, read and written, are those of a question so far.

    Args:
        system: its results.
        data: the questions.
        within: whether each question was searched for among its own passages, which its trace then numbers.
    """
    steps = [rounds_of(one, data) for one in system.found]
    everything = [passage.id for passage in data.corpus]
    searched = [question.context if within else everything for question in data.questions]
    last = max((number for one in steps for number in one), default=0)
    rows = []
    for number in range(1, last + 1):
        past = [[one[n] for n in sorted(one) if n <= number] for one in steps]
        fused = [rrf([step.places for step in one]).places.tolist() for one in past]
        lists = [[ids[p] for p in one if p < len(ids)] for one, ids in zip(fused, searched, strict=True)]
        recalls = np.array(
            [recalls_at(found, q.gold, KS, missing=q.missing) for q, found in zip(data.questions, lists, strict=True)]
        )
        row = {"round": float(number), "n": float(sum(number in one for one in steps))}
        row["calls"] = sum(step.calls for one in past for step in one) / len(steps)
        row["tokens"] = sum(step.tokens for one in past for step in one) / len(steps)
        rows.append({**row, **{metric: mean(recalls[:, column]) for column, metric in enumerate(RECALLS)}})
    return rows


def by_step(system: SystemScores) -> dict[str, Usage]:
    """What each step of a method took in all questions, from the records of its trace that have ``usage``."""
    found: dict[str, Usage] = {}
    for one in system.found:
        for step in one.trace:
            if usage := step.get("usage"):
                name = str(step.get("step", "step"))
                found[name] = found.get(name, Usage()) + Usage(**usage)
    return found


class Round(NamedTuple):
    """A round of one question: the list it found, the calls and tokens it took."""

    places: Sequence[int]
    calls: int
    tokens: int


def rounds_of(found: Found, data: MultihopData) -> dict[int, Round]:
    """Rounds by number: the steps of a trace that have ``round``; the list is under ``fused``, a step's calls under
    ``usage``."""
    rounds: dict[int, Round] = {}
    for step in found.trace:
        number = step.get("round")
        if type(number) is int and number > 0:
            places, calls, tokens = rounds.get(number, Round((), 0, 0))
            usage = step.get("usage") or {}
            calls += usage.get("calls", 0) + usage.get("cached", 0)
            tokens += usage.get("tokens_in", 0) + usage.get("tokens_out", 0)
            rounds[number] = Round(_places(step.get("fused"), len(data.corpus)) or places, calls, tokens)
    return rounds


def _places(value: Any, size: int) -> list[int] | None:
    there = isinstance(value, list | tuple) and all(type(place) is int and 0 <= place < size for place in value)
    return list(value) if there else None


def usage_of(system: SystemScores, price: Price | None = None) -> dict[str, float]:
    """For one question: calls, cached, tokens in and out, seconds of all of it, and the cost where there is a price."""
    usage, n = system.usage, len(system.found)
    counts = {name: getattr(usage, name) / n for name in ("calls", "cached", "tokens_in", "tokens_out")}
    return {**counts, "seconds": system.seconds} | ({"cost": price.cost(usage) / n} if price is not None else {})
