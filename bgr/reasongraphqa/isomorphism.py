"""Evidence graphs by shape: which are isomorphic as directed graphs with their roots pinned (paper, Table 1)."""

from __future__ import annotations

from collections.abc import Iterable

from bgr.graph import ROOT, Edge, EvidenceGraph
from bgr.metrics.gs import graph_structure_match

ROUNDS = 4


def structure_classes(graphs: Iterable[EvidenceGraph]) -> list[int]:
    """The class of each graph, numbered in order of first appearance."""
    classes = StructureClasses()
    return [classes.number(graph) for graph in graphs]


class StructureClasses:
    """Tells graphs apart by shape, one after the other. Exact: a hash only narrows what is compared."""

    def __init__(self) -> None:
        self._buckets: dict[object, list[tuple[EvidenceGraph, int]]] = {}
        self._known: dict[frozenset[Edge], int] = {}
        self._count = 0

    def __len__(self) -> int:
        return self._count

    def number(self, graph: EvidenceGraph) -> int:
        """The class of a graph: that of the first one isomorphic to it, or a new one."""
        # facts numbered in the order of reasoning make most isomorphic graphs equal
        places = {ROOT: ROOT, **{node: place for place, node in enumerate(graph.order())}}
        edges = frozenset((places[a], places[b]) for a, b in graph.edges)
        if edges not in self._known:
            self._known[edges] = self._compared(EvidenceGraph(edges))
        return self._known[edges]

    def _compared(self, graph: EvidenceGraph) -> int:
        bucket = self._buckets.setdefault(_signature(graph), [])
        number = next((n for other, n in bucket if graph_structure_match(graph, other)), None)
        if number is None:
            number = self._count
            self._count += 1
            bucket.append((graph, number))
        return number


def _signature(graph: EvidenceGraph) -> object:
    """The same for isomorphic graphs, mostly different for others: colours refined a few rounds (Weisfeiler-Lehman)."""
    colours = {ROOT: (0,), **dict.fromkeys(graph.nodes, (1,))}
    for _ in range(ROUNDS):
        signs = {
            node: (
                colours[node],
                tuple(sorted(colours[n] for n in graph.predecessors(node))),
                tuple(sorted(colours[n] for n in graph.successors(node))),
            )
            for node in colours
        }
        names = {sign: (place,) for place, sign in enumerate(sorted(set(signs.values())))}
        colours = {node: names[sign] for node, sign in signs.items()}
        history = tuple(sorted(signs.values()))
    return history
