"""One evidence graph from the forward and the backward one (paper, section 4.2)."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import networkx as nx

from bgr.errors import BgrError
from bgr.graph import ROOT, Edge, EvidenceGraph
from bgr.models.decode import acyclic, graph_of
from bgr.retrieval import DirectionResult

UNSEEN = -4.0
"""Log-odds of an edge that a direction never came to weigh."""


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
    """The paper's text: where BSC ≤ γ, the edges that both have, without what no longer hangs together; else as
    equation 2, the union."""
    if subgraph_confidence(forward, backward) > gamma:
        return _union(forward, backward)
    both = forward.edges & backward.edges
    return EvidenceGraph.reachable(both, _scores(forward, backward))


def released(forward: EvidenceGraph, backward: EvidenceGraph, gamma: float) -> EvidenceGraph:
    """What the authors' released code decides, for comparison: ``G_B`` where BSC > γ, else a union in which an edge to
    a fact that is already present is not added again. Theirs drops by hash order; here the forward edges come first,
    breadth first from the question, then the backward ones."""
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


def forward_only(forward: EvidenceGraph, backward: EvidenceGraph, gamma: float) -> EvidenceGraph:
    """The forward graph alone."""
    return forward


def backward_only(forward: EvidenceGraph, backward: EvidenceGraph, gamma: float) -> EvidenceGraph:
    """The backward graph alone."""
    return backward


def fused(
    forward: Mapping[Edge, float], backward: Mapping[Edge, float], gamma: float, threshold: float = 0.0
) -> EvidenceGraph:
    """Ours: both directions' log-odds of each edge, averaged with the weight γ on the backward ones, must reach the
    threshold.

    Unlike the paper's rules it sees how sure each direction is, and edges that one of them just left out. At least the
    most probable edge from the question is kept. An edge beside a longer path between the same facts is dropped: a step
    of reasoning starts from the facts found last, and hardly any gold graph (1 in 180 of Atlas') has such a shortcut,
    while a path-wise model often likes a fact's grandchild as well as its child.
    """
    odds = {
        edge: (1 - gamma) * forward.get(edge, UNSEEN) + gamma * backward.get(edge, UNSEEN) - threshold
        for edge in forward.keys() | backward.keys()
    }
    first = max((edge for edge in odds if edge[0] == ROOT), key=lambda edge: (odds[edge], edge), default=None)
    if first is not None:
        odds[first] = max(odds[first], 0.0)
    graph = graph_of(odds)[0]
    return EvidenceGraph.reachable(nx.transitive_reduction(graph.to_networkx()).edges, graph.scores)


GRAPH_RULES: Mapping[str, Callable[[EvidenceGraph, EvidenceGraph, float], EvidenceGraph]] = {
    "equation": equation,
    "intersection": intersection,
    "released": released,
    "forward": forward_only,
    "backward": backward_only,
}
RULES = (*GRAPH_RULES, "fused")
BIDIRECTIONAL = ("equation", "intersection", "fused")
"""Rules that training chooses from on dev; `released` is for comparison only."""


def reconstruct(
    forward: DirectionResult, backward: DirectionResult, rule: str, gamma: float, *, threshold: float = 0.0
) -> EvidenceGraph:
    """Merge both directions by a named rule; always a DAG in which every fact is reachable from the question.

    Args:
        forward, backward: what each direction found.
        rule: a name in `RULES`.
        gamma: in [0, 1]: for `fused` the weight of the backward direction, for the others a threshold on the
            confidence.
        threshold: log-odds that an edge needs under `fused`. Those of a path's weakest step run low, so that less than
            0 may be best.

    Raises:
        BgrError: an unknown rule, or γ out of its range.
    """
    if rule not in RULES:
        raise BgrError(f"unknown reconstruction rule {rule!r}, known: {', '.join(sorted(RULES))}")
    if not 0 <= gamma <= 1:
        raise BgrError(f"gamma is {gamma}, allowed: 0 to 1")
    if rule == "fused":
        return fused(forward.odds, backward.odds, gamma, threshold)
    return GRAPH_RULES[rule](forward.graph, backward.graph, gamma)


def _scores(forward: EvidenceGraph, backward: EvidenceGraph) -> dict[Edge, float]:
    """The mean of both directions' scores; a direction without the edge, or without scores, counts 0 or ½."""
    return {
        edge: sum(graph.scores.get(edge, 0.5) if edge in graph.edges else 0.0 for graph in (forward, backward)) / 2
        for edge in forward.edges | backward.edges
    }


def _union(forward: EvidenceGraph, backward: EvidenceGraph) -> EvidenceGraph:
    """Both edge sets; where they close a cycle together, the least probable edge of it is left out."""
    scores = _scores(forward, backward)
    kept, _ = acyclic(scores)
    return EvidenceGraph.reachable(kept, scores)


def _breadth_first(graph: EvidenceGraph) -> list[Edge]:
    depth = nx.single_source_shortest_path_length(graph.to_networkx(), ROOT)
    return sorted(graph.edges, key=lambda edge: (depth[edge[0]], edge))
