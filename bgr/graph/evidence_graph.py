"""The evidence graph (paper, section 3.2)."""

from __future__ import annotations

from bgr.graph.notebook import graph_html
from bgr.graph.rooted_graph import ROOT, Edge, RootedGraph

__all__ = ["ROOT", "Edge", "EvidenceGraph", "next_nodes"]


class EvidenceGraph(RootedGraph):
    """Edges ``(a, b)``: fact ``b`` is found from fact ``a``, or from the question when ``a`` is ``ROOT``.

    Every retriever returns one, and every metric and plot takes one. Arguments and errors are those of `RootedGraph`.
    A notebook shows it as a picture of numbers, since the graph has no texts.
    """

    def _repr_html_(self) -> str:
        return graph_html(self, dict.fromkeys(self.nodes, ""), "question")


def next_nodes(graph: EvidenceGraph, node: int | None, direction: str) -> tuple[int, ...]:
    """Nodes that may follow `node` on a path (``None``: that may start one). Backward, ``ROOT`` may be among them."""
    if direction == "forward":
        return graph.successors(ROOT if node is None else node)
    return graph.leaves if node is None else graph.predecessors(node)
