"""The result of one direction, and the probability that its path model gives to a whole graph."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from bgr.graph.dag import graph_of
from bgr.graph.evidence_graph import ROOT, Edge, EvidenceGraph

FLOOR = -8.0
"""Log-odds of a next fact below which no difference is made."""

MAX_PATHS = 64
"""Maximum paths of one length through a graph that are read."""

Path = tuple[int, ...]
"""The facts of a path in the order in which a direction walks it; empty at its start."""


@dataclass(frozen=True)
class Step:
    """The prediction of a direction at the end of a path.

    Args:
        nothing: log-probability that nothing is next, ``Σ log(1 - p)`` over all possible nodes.
        odds: log-odds of each possible next node, if above `FLOOR`.
    """

    nothing: float
    odds: Mapping[int, float]

    def log_probability(self, following: Iterable[int]) -> float:
        """Log-probability that exactly these nodes are next: each of them changes ``log(1 - p)`` into ``log p``."""
        return self.nothing + sum(self.odds.get(node, FLOOR) for node in following)


@dataclass(frozen=True)
class DirectionResult:
    """The result of one direction of BGR.

    Args:
        graph: the edges whose odds are 0 and above.
        limits: the name of every decoding limit that was reached.
        odds: log-odds of every scored edge relative to the direction's threshold, including those not in the graph.
        steps: the prediction at the end of every path that was followed.
        completeness: log-odds that the evidence is complete; ``None`` if the model does not tell.
        likelihoods: cache of `fusion`, since dev compares the same graphs under every γ.
    """

    graph: EvidenceGraph
    limits: tuple[str, ...] = ()
    odds: Mapping[Edge, float] = field(default_factory=dict, compare=False, repr=False)
    steps: Mapping[Path, Step] = field(default_factory=dict, compare=False, repr=False)
    completeness: float | None = None
    likelihoods: dict[frozenset[Edge], float] = field(default_factory=dict, compare=False, repr=False)

    def relabel(self, facts: Sequence[int]) -> DirectionResult:
        """The same result with each fact ``n`` renamed to ``facts[n]``."""
        names = {ROOT: ROOT, **dict(enumerate(facts))}
        return replace(
            self,
            graph=self.graph.relabel(names),
            odds={(names[a], names[b]): odds for (a, b), odds in self.odds.items()},
            steps={
                tuple(names[node] for node in path): Step(step.nothing, {names[n]: o for n, o in step.odds.items()})
                for path, step in self.steps.items()
            },
            likelihoods={},
        )


def log_likelihood(edges: Iterable[Edge], steps: Mapping[Path, Step], *, forward: bool) -> float:
    """Log-probability of a graph by one direction: of exactly the successors that each node has.

    Each path through the graph to a node predicts the successors; the mean of these predictions counts, so that joins
    do not count several times. A path that the direction did not follow is replaced by those that it followed to the
    same node. A node that it never reached counts 0, as the step that should have led there already costs.

    The edges must form a DAG whose nodes are all reachable from the question.
    """
    after: dict[int, list[int]] = {}
    for a, b in edges:
        if forward:
            after.setdefault(a, []).append(b)
        else:
            after.setdefault(b, []).append(a)
    start = after.get(ROOT, []) if forward else [node for node in after if not any(node in v for v in after.values())]
    total = steps[()].log_probability(start) if () in steps else 0.0
    opinions: dict[int, list[float]] = {}
    paths: list[Path] = [(node,) for node in start]
    while paths:
        longer: list[Path] = []
        for path in paths[:MAX_PATHS]:
            following = after.get(path[-1], [])
            known = opinions.setdefault(path[-1], [])
            if path in steps:
                known.append(steps[path].log_probability(following))
            longer += [(*path, node) for node in following if node != ROOT]
        paths = longer
    for node, known in opinions.items():
        if not known:
            walked = [step for path, step in steps.items() if path and path[-1] == node]
            known += [step.log_probability(after.get(node, [])) for step in walked]
        total += sum(known) / len(known) if known else 0.0
    return total


def graph_at(
    steps: Mapping[Path, Step], threshold: float, *, forward: bool, max_depth: int | None = None
) -> EvidenceGraph:
    """The graph that `decode` gives at a `threshold`, from the steps that it explored, or followed at a lower one, with
    at most `max_depth` facts on a path."""
    bound = math.log(threshold / (1 - threshold))
    odds: dict[Edge, float] = {}
    paths: list[tuple[Path, float]] = [((), math.inf)]
    while paths:
        longer: list[tuple[Path, float]] = []
        for path, reached in paths:
            if path not in steps:
                continue
            margins = {node: value - bound for node, value in steps[path].odds.items()}
            best = max(margins.values(), default=-math.inf)
            if not path and margins:
                margins = {node: max(value, 0.0) if value == best else value for node, value in margins.items()}
            following = {node: min(reached, margin) for node, margin in margins.items() if margin >= 0}
            if path and not forward and best <= 0:  # without a predecessor, a path has reached the question
                following[ROOT] = max(following.get(ROOT, 0.0), min(reached, -best))
            for node, score in following.items():
                if len(path) == max_depth and node != ROOT:
                    continue
                edge = (path[-1] if path else ROOT, node) if forward else (node, path[-1]) if path else None
                if edge is not None:
                    odds[edge] = max(score, odds.get(edge, score))
                if node != ROOT:
                    longer.append(((*path, node), score))
        paths = longer
    return graph_of(odds)[0]
