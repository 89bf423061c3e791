"""One of the two graphs of an edit distance, laid out for the search: order, bit sets, interchangeable facts."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from bgr.graph import ROOT, Edge


class Side(NamedTuple):
    """Nodes are renumbered: 0 is the root, then parents before children, of those that may come next the one with the
    most edges.

    Args:
        facts: fact number of each node, the root's first.
        parents: the nodes that lead to each node.
        before, after: the same as bit sets, and those that each node leads to.
        edges: how many there are.
    """

    facts: list[int]
    parents: list[list[int]]
    before: list[int]
    after: list[int]
    edges: int

    @classmethod
    def of(cls, edges: Collection[Edge]) -> Side:
        """From the edges of an `EvidenceGraph`."""
        children: dict[int, list[int]] = {ROOT: []}
        degree: dict[int, int] = {}
        edges_in: dict[int, int] = {}
        for a, b in sorted(edges):
            if a in children:
                children[a].append(b)
            else:
                children[a] = [b]
            edges_in[b] = edges_in.get(b, 0) + 1
        side = cls([], [], [], [], len(edges))
        facts, parents, before, after, _ = side
        found: dict[int, list[int]] = {ROOT: []}
        ready = [ROOT]
        while ready:
            if len(ready) == 1:
                fact = ready.pop()
            else:
                degree = degree or {n: count + len(children.get(n, ())) for n, count in edges_in.items()}
                fact = ready.pop(ready.index(max(ready, key=degree.__getitem__)))
            number, mask = len(facts), 0
            for parent in found[fact]:
                mask |= 1 << parent
                after[parent] |= 1 << number
            facts.append(fact)
            parents.append(found[fact])
            before.append(mask)
            after.append(0)
            for child in children.get(fact, ()):
                if child in found:
                    found[child].append(number)
                else:
                    found[child] = [number]
                if len(found[child]) == edges_in[child]:
                    ready.append(child)
        return side

    def matrix(self) -> np.ndarray:
        """``[n, n]`` 0/1 matrix of the edges."""
        edges = np.zeros((len(self.facts), len(self.facts)), dtype=np.int64)
        for node, parents in enumerate(self.parents):
            edges[parents, node] = 1
        return edges


@dataclass(frozen=True)
class Kinds:
    """Which facts of a side are interchangeable.

    Two facts are (have one `kind`) when they hang from the same facts and what hangs from them alone is alike: swapping
    the two, each with its private subtree, turns the graph into itself.

    Args:
        kind: number of each node's class.
        subtree: bit set of the node and all nodes that can be reached through it only.
        twin_before: the last node before this one of its kind, or None.
    """

    kind: list[int]
    subtree: list[int]
    twin_before: list[int | None]

    @classmethod
    def of(cls, side: Side, shared: Collection[int]) -> Kinds:
        """Facts in `shared` carry an identity that the other graph knows: they are interchangeable with no other."""
        shapes: dict[tuple[object, ...], int] = {}
        shape = [0] * len(side.facts)
        subtree = [1 << node for node in range(len(side.facts))]
        for node in reversed(range(len(side.facts))):
            children = [n for n in range(node + 1, len(side.facts)) if side.after[node] >> n & 1]
            own = [n for n in children if len(side.parents[n]) == 1]
            others = tuple(n for n in children if len(side.parents[n]) > 1)
            identity = side.facts[node] if side.facts[node] in shared else None
            key = (identity, tuple(sorted(shape[n] for n in own)), others)
            shape[node] = shapes.setdefault(key, len(shapes))
            for child in own:
                subtree[node] |= subtree[child]
        kinds: dict[tuple[int, int], int] = {}
        kind = [kinds.setdefault(key, len(kinds)) for key in zip(side.before, shape, strict=True)]
        last: dict[int, int] = {}
        twins: list[int | None] = []
        for node, name in enumerate(kind):
            twins.append(last.get(name))
            last[name] = node
        return cls(kind, subtree, twins)
