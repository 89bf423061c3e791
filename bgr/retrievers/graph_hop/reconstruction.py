"""One evidence graph from the forward and the backward one (paper, section 4.2)."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import networkx as nx

from bgr.errors import BgrError
from bgr.graph.dag import acyclic
from bgr.graph.evidence_graph import ROOT, Edge, EvidenceGraph
from bgr.retrievers.base import RetrievalResult
from bgr.retrievers.graph_hop.fusion import LIMIT, Fusion, fused
from bgr.retrievers.graph_hop.likelihood import DirectionResult


def subgraph_confidence(forward: EvidenceGraph, backward: EvidenceGraph) -> float:
    """Bidirectional subgraph confidence ``|E_F ∩ E_B| / |E_F ∪ E_B|`` (paper, equation 1).

    In [0, 1], 1 where both agree. Two empty graphs agree.
    """
    union = forward.edges | backward.edges
    return len(forward.edges & backward.edges) / len(union) if union else 1.0


def equation(forward: EvidenceGraph, backward: EvidenceGraph, gamma: float) -> EvidenceGraph:
    """Equation 2: ``G_F ∪ G_B`` if BSC > γ, else ``G_B``."""
    return _union(forward, backward) if subgraph_confidence(forward, backward) > gamma else backward


def intersection(forward: EvidenceGraph, backward: EvidenceGraph, gamma: float) -> EvidenceGraph:
    """The paper's text: the union if BSC > γ as in equation 2, else the shared edges that are reachable."""
    if subgraph_confidence(forward, backward) > gamma:
        return _union(forward, backward)
    return EvidenceGraph.reachable(forward.edges & backward.edges, _scores(forward, backward))


def released(forward: EvidenceGraph, backward: EvidenceGraph, gamma: float) -> EvidenceGraph:
    """The rule of the authors' released code, for comparison: ``G_B`` if BSC > γ, else a union in which each fact has
    only its first edge. Theirs follows the hash order; here the forward edges come first, breadth-first from the
    question, then the backward ones."""
    if subgraph_confidence(forward, backward) > gamma:
        return backward
    kept: dict[Edge, None] = {}
    present: set[int] = set()
    for graph in (forward, backward):
        for edge in _breadth_first(graph):
            if edge[1] not in present:
                present.add(edge[1])
                kept[edge] = None
    return EvidenceGraph.reachable(kept, _scores(forward, backward))


GRAPH_RULES: Mapping[str, Callable[[EvidenceGraph, EvidenceGraph, float], EvidenceGraph]] = {
    "equation": equation,
    "intersection": intersection,
    "released": released,
    "forward": lambda forward, backward, gamma: forward,
    "backward": lambda forward, backward, gamma: backward,
}
RULES = (*GRAPH_RULES, "fused")
BIDIRECTIONAL = ("equation", "intersection", "fused")
"""Rules that training chooses from on dev; `released` is for comparison only."""

GAMMAS = tuple(step / 20 for step in range(21))
"""The values of γ that are tried for each rule."""


def reconstruct(
    forward: DirectionResult, backward: DirectionResult, rule: str, gamma: float, *, fusion: Fusion | None = None
) -> RetrievalResult:
    """Merge both directions by a named rule; always a DAG in which every fact is reachable from the question.

    Args:
        rule: a name in `RULES`.
        gamma: in [0, 1]: for `fused` the weight of the backward direction, for the others a threshold of the BSC.
        fusion: calibration and threshold of `fused`; default: no calibration, and 0.

    Returns:
        The graph, with the limits that a direction of the rule or the fusion reached, and ``cycle`` if their union had
        one.

    Raises:
        BgrError: an unknown rule, or γ out of range.
    """
    check_rule(rule)
    if not 0 <= gamma <= 1:
        raise BgrError(f"gamma is {gamma}, allowed: 0 to 1")
    alone = {"forward": forward, "backward": backward}.get(rule)
    limits = {*forward.limits, *backward.limits} if alone is None else {*alone.limits}
    if rule == "fused":
        graph, whole = fused(forward, backward, gamma, fusion or Fusion())
        limits |= set() if whole else {LIMIT}
    else:
        graph = GRAPH_RULES[rule](forward.graph, backward.graph, gamma)
        united = rule in ("equation", "intersection") and subgraph_confidence(forward.graph, backward.graph) > gamma
        if united and graph.edges != forward.graph.edges | backward.graph.edges:
            limits.add("cycle")
    return RetrievalResult(graph, tuple(sorted(limits)))


def check_rule(rule: str) -> None:
    """Check a rule's name; BgrError if there is no such rule."""
    if rule not in RULES:
        raise BgrError(f"unknown reconstruction rule {rule!r}, known: {', '.join(sorted(RULES))}")


def _scores(forward: EvidenceGraph, backward: EvidenceGraph) -> dict[Edge, float]:
    """The mean of both directions' scores; a missing edge counts 0, an edge without a score ½."""
    return {
        edge: sum(graph.scores.get(edge, 0.5) if edge in graph.edges else 0.0 for graph in (forward, backward)) / 2
        for edge in forward.edges | backward.edges
    }


def _union(forward: EvidenceGraph, backward: EvidenceGraph) -> EvidenceGraph:
    """Both edge sets; the least probable edge of each cycle is left out."""
    scores = _scores(forward, backward)
    kept, _ = acyclic(scores)
    return EvidenceGraph.reachable(kept, scores)


def _breadth_first(graph: EvidenceGraph) -> list[Edge]:
    depth = nx.single_source_shortest_path_length(graph.to_networkx(), ROOT)
    return sorted(graph.edges, key=lambda edge: (depth[edge[0]], edge))
