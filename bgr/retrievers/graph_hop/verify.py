"""What a verifier (`bgr.models.verifier`) changes in the results of both directions."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import replace

from bgr.graph.evidence_graph import Edge
from bgr.retrievers.graph_hop.likelihood import FLOOR, DirectionResult, Step, graph_at


def fact_odds(odds: Mapping[Edge, float]) -> dict[int, float]:
    """The log-odds of each fact: those of the best edge to it that a direction scored."""
    found: dict[int, float] = {}
    for (_, fact), value in odds.items():
        if fact >= 0:
            found[fact] = max(value, found.get(fact, value))
    return found


def considered(forward: DirectionResult, backward: DirectionResult, most: int) -> dict[int, tuple[float, float]]:
    """The `most` facts with the highest sum of both directions' log-odds, the highest first, each with both of them; a
    fact that a direction did not score has `FLOOR`."""
    one, two = fact_odds(forward.odds), fact_odds(backward.odds)
    both = {fact: (one.get(fact, FLOOR), two.get(fact, FLOOR)) for fact in one.keys() | two.keys()}
    order = sorted(both, key=lambda fact: (-sum(both[fact]), fact))
    return {fact: both[fact] for fact in order[:most]}


def verified(
    result: DirectionResult, gains: Mapping[int, float], threshold: float, *, forward: bool
) -> DirectionResult:
    """The result with `gains` added to the log-odds of every edge to some facts, and of every step to them.

    Args:
        threshold: the direction's, by which its own graph is chosen.
    """
    if not gains:
        return result
    odds = {(a, b): value + gains.get(b, 0.0) for (a, b), value in result.odds.items()}
    steps = {path: _changed(step, gains) for path, step in result.steps.items()}
    graph = graph_at(steps, threshold, forward=forward)
    return replace(result, graph=graph, odds=odds, steps=steps, likelihoods={})


def _changed(step: Step, gains: Mapping[int, float]) -> Step:
    odds = {fact: value + gains.get(fact, 0.0) for fact, value in step.odds.items()}
    # log(1 - p) is -log(1 + exp(odds))
    nothing = step.nothing + _log_rest(step.odds.values()) - _log_rest(odds.values())
    return Step(nothing, odds)


def _log_rest(odds: Iterable[float]) -> float:
    """``-Σ log(1 - p)`` of several log-odds."""
    return sum(max(value, 0.0) + math.log1p(math.exp(-abs(value))) for value in odds)
