"""A DAG over candidate facts, rooted at the question ``Q`` (paper, section 3.2): constraints, order and structure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Self

import networkx as nx

from bgr.errors import GraphError

ROOT = -1
"""The node of the question. Facts are ``0 … n-1``, their indices among the candidates."""

Edge = tuple[int, int]


@dataclass(frozen=True)
class RootedGraph:
    """Edges ``(a, b)``: fact ``b`` is found from fact ``a``, or from the question when ``a`` is ``ROOT``.

    It may be empty. The constructor checks the constraints of the paper's section 3.2: no edge into the root, no cycle,
    every fact reachable from the root. `bgr.graph.evidence_graph.EvidenceGraph` is this graph with its picture.

    Args:
        edges: pairs of node numbers; order and duplicates do not matter.
        scores: optional probability of each edge, for display and for calibration; not part of the graph's identity.

    Raises:
        GraphError: a constraint is violated; the message names the edge or node.
    """

    edges: frozenset[Edge]
    scores: Mapping[Edge, float] = field(default_factory=dict, compare=False, repr=False)

    def __init__(self, edges: Iterable[Edge] = (), scores: Mapping[Edge, float] | None = None) -> None:
        object.__setattr__(self, "edges", frozenset((int(a), int(b)) for a, b in edges))
        object.__setattr__(self, "scores", dict(scores or {}))
        self._check()

    def _check(self) -> None:
        for a, b in self.edges:
            if b == ROOT:
                raise GraphError(f"edge {a} -> Q: no edge may lead to the question")
            if a < ROOT or b < 0:
                raise GraphError(f"edge {a} -> {b}: facts are numbered from 0, the root is {ROOT}")
        graph = self.to_networkx()
        if not nx.is_directed_acyclic_graph(graph):
            cycle = " -> ".join(str(a) for a, _ in nx.find_cycle(graph))
            raise GraphError(f"the graph has a cycle: {cycle}")
        lost = set(graph) - nx.descendants(graph, ROOT) - {ROOT}
        if lost:
            raise GraphError(f"facts {sorted(lost)} cannot be reached from the question")

    def to_networkx(self) -> nx.DiGraph:
        """A new ``networkx.DiGraph`` with the root; scored edges have the attribute ``score``."""
        graph: nx.DiGraph = nx.DiGraph()
        graph.add_node(ROOT)
        for a, b in sorted(self.edges):
            graph.add_edge(a, b, **({"score": self.scores[a, b]} if (a, b) in self.scores else {}))
        return graph

    @classmethod
    def reachable(cls, edges: Iterable[Edge], scores: Mapping[Edge, float] | None = None) -> Self:
        """The part of an acyclic edge set that is reachable from the root; the rest is dropped."""
        graph: nx.DiGraph = nx.DiGraph()
        graph.add_node(ROOT)
        graph.add_edges_from(edges)
        alive = nx.descendants(graph, ROOT) | {ROOT}
        kept = [(a, b) for a, b in graph.edges if a in alive and b in alive]
        return cls(kept, {e: s for e, s in (scores or {}).items() if e in set(kept)})

    @cached_property
    def nodes(self) -> tuple[int, ...]:
        """The facts of the graph in increasing order, without the root."""
        return tuple(sorted({n for edge in self.edges for n in edge} - {ROOT}))

    @cached_property
    def _successors(self) -> dict[int, tuple[int, ...]]:
        return _grouped(self.edges)

    @cached_property
    def _predecessors(self) -> dict[int, tuple[int, ...]]:
        return _grouped((b, a) for a, b in self.edges)

    def successors(self, node: int) -> tuple[int, ...]:
        return self._successors.get(node, ())

    def predecessors(self, node: int) -> tuple[int, ...]:
        return self._predecessors.get(node, ())

    @property
    def leaves(self) -> tuple[int, ...]:
        """Facts without successors: the last evidence before the answer."""
        return tuple(n for n in self.nodes if not self.successors(n))

    @cached_property
    def hops(self) -> int:
        """The number of facts on the longest path from the root; 0 for an empty graph."""
        return nx.dag_longest_path_length(self.to_networkx()) if self.edges else 0

    @property
    def chains(self) -> int:
        """The number of leaves, each the end of at least one chain of reasoning (paper, Table 2)."""
        return len(self.leaves)

    @property
    def structure(self) -> str:
        """``SC-SH``, ``SC-MH``, ``MC-SH`` or ``MC-MH`` (paper, Table 3).

        Multi-chain: the root or a fact has several successors. Multi-hop: the longest path has several facts.
        """
        branching = any(len(after) > 1 for after in self._successors.values())
        return f"{'MC' if branching else 'SC'}-{'MH' if self.hops > 1 else 'SH'}"

    def order(self) -> list[int]:
        """The facts in the order of reasoning: depth first, smallest number first, after all their predecessors."""
        written: list[int] = []
        waiting = {node: len(self.predecessors(node)) for node in self.nodes}
        stack = [ROOT]
        while stack:
            node = stack.pop()
            if node != ROOT:
                written.append(node)
            for after in reversed(self.successors(node)):
                waiting[after] -= 1
                if waiting[after] == 0:
                    stack.append(after)
        return written

    def relabel(self, indices: Mapping[int, int]) -> Self:
        """The same graph with each fact ``n`` renamed to ``indices[n]``."""
        full = {ROOT: ROOT, **indices}
        scores = {(full[a], full[b]): score for (a, b), score in self.scores.items()}
        return type(self)([(full[a], full[b]) for a, b in self.edges], scores)

    def to_json(self) -> list[list[int]]:
        """Sorted edge list ``[[a, b], …]``, the root as ``-1``."""
        return [list(edge) for edge in sorted(self.edges)]


def _grouped(pairs: Iterable[Edge]) -> dict[int, tuple[int, ...]]:
    """The second numbers of the pairs in increasing order, by the first number."""
    groups: dict[int, list[int]] = {}
    for key, value in sorted(pairs):
        groups.setdefault(key, []).append(value)
    return {key: tuple(values) for key, values in groups.items()}
