"""Evidence graphs by shape: which are isomorphic as directed graphs with their roots pinned (paper, Table 1)."""

from __future__ import annotations

from collections.abc import Sequence

from bgr.graph import ROOT, EvidenceGraph
from bgr.metrics.gs import graph_structure_match

ROUNDS = 4


def structure_classes(graphs: Sequence[EvidenceGraph]) -> list[int]:
    """The class of each graph, numbered in order of first appearance. Exact: a hash only narrows what is compared."""
    buckets: dict[object, list[tuple[EvidenceGraph, int]]] = {}
    known: dict[frozenset[tuple[int, int]], int] = {}
    classes = []
    count = 0
    for graph in graphs:
        # facts numbered in the order of reasoning make most isomorphic graphs equal
        renamed = graph.relabel({node: place for place, node in enumerate(graph.order())})
        number = known.get(renamed.edges)
        if number is None:
            bucket = buckets.setdefault(_signature(renamed), [])
            number = next((n for other, n in bucket if graph_structure_match(renamed, other)), None)
            if number is None:
                number, count = count, count + 1
                bucket.append((renamed, number))
            known[renamed.edges] = number
        classes.append(number)
    return classes


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
