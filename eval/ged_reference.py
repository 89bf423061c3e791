"""networkx's exact graph edit distance and isomorphism test with our meaning: ``Q`` is mapped to ``Q``."""

from __future__ import annotations

from typing import Any

import networkx as nx

from bgr.graph import ROOT, EvidenceGraph


def networkx_graph(graph: EvidenceGraph) -> nx.DiGraph:
    """The graph with each node's number as its attribute ``fact``."""
    made = graph.to_networkx()
    nx.set_node_attributes(made, {node: node for node in made}, "fact")
    return made


def networkx_distance(first: nx.DiGraph, second: nx.DiGraph, *, labelled: bool) -> int:
    """The exact distance between two `networkx_graph`; its time grows with the factorial of the number of facts."""
    distance = nx.graph_edit_distance(
        first, second, node_match=_same_fact if labelled else None, roots=(ROOT, ROOT), timeout=None
    )
    return int(distance)


def networkx_isomorphic(first: nx.DiGraph, second: nx.DiGraph) -> bool:
    """Whether the two have one shape, roots on one another (VF2)."""
    return nx.is_isomorphic(first, second, node_match=_both_or_no_root)


def _same_fact(a: dict[str, Any], b: dict[str, Any]) -> bool:
    return a["fact"] == b["fact"]


def _both_or_no_root(a: dict[str, Any], b: dict[str, Any]) -> bool:
    return (a["fact"] == ROOT) == (b["fact"] == ROOT)
