"""One of the two graphs of an edit distance, laid out for the search: matrix, order of nodes, interchangeable nodes."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

import numpy as np

from bgr.graph import ROOT, EvidenceGraph


@dataclass(frozen=True)
class Side:
    """Nodes are renumbered: 0 is the root, then parents before children, nodes with many edges early.

    Two facts are interchangeable (have one `kind`) when they hang from the same facts and what hangs from them alone is
    alike: swapping the two, each with its private subtree, turns the graph into itself.

    Args:
        edges: ``[n, n]`` 0/1 matrix.
        facts: ``[n - 1]`` fact number of each node but the root.
        kind: number of the node's class of interchangeable nodes.
        subtree: bit set of the node and all nodes that can be reached through it only.
        twin_before: the last node before this one of its kind, or None.
    """

    edges: np.ndarray
    facts: np.ndarray
    kind: list[int]
    subtree: list[int]
    twin_before: list[int | None]

    @classmethod
    def of(cls, graph: EvidenceGraph, shared: Collection[int]) -> Side:
        """Facts in `shared` carry an identity that the other graph knows: they are interchangeable with no other."""
        order = _order(graph)
        place = {node: number for number, node in enumerate(order)}
        edges = np.zeros((len(order), len(order)), dtype=np.int64)
        for a, b in graph.edges:
            edges[place[a], place[b]] = 1
        kind, subtree = _kinds(graph, order, place, shared)
        last: dict[int, int] = {}
        twins: list[int | None] = []
        for number, name in enumerate(kind):
            twins.append(last.get(name))
            last[name] = number
        return cls(edges, np.array(order[1:], dtype=np.int64), kind, subtree, twins)


def _order(graph: EvidenceGraph) -> list[int]:
    """Parents first; among the nodes that may come next, the one with the most edges, then the lowest number."""
    waiting = {node: len(graph.predecessors(node)) for node in graph.nodes}
    ready, order = [ROOT], []
    while ready:
        node = max(ready, key=lambda n: (len(graph.predecessors(n)) + len(graph.successors(n)), -n))
        ready.remove(node)
        order.append(node)
        for after in graph.successors(node):
            waiting[after] -= 1
            if not waiting[after]:
                ready.append(after)
    return order


def _kinds(
    graph: EvidenceGraph, order: list[int], place: dict[int, int], shared: Collection[int]
) -> tuple[list[int], list[int]]:
    """`Side.kind` and `Side.subtree`, children before parents."""
    shapes: dict[tuple[object, ...], int] = {}
    shape: dict[int, int] = {}
    subtree = [1 << number for number in range(len(order))]
    for node in reversed(order):
        own = [n for n in graph.successors(node) if len(graph.predecessors(n)) == 1]
        others = tuple(n for n in graph.successors(node) if len(graph.predecessors(n)) > 1)
        key = (node if node in shared else None, tuple(sorted(shape[n] for n in own)), others)
        shape[node] = shapes.setdefault(key, len(shapes))
        for child in own:
            subtree[place[node]] |= subtree[place[child]]
    kinds: dict[tuple[object, ...], int] = {}
    kind = [kinds.setdefault((graph.predecessors(node), shape[node]), len(kinds)) for node in order]
    return kind, subtree
