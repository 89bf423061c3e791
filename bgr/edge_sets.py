"""Small sets of edges on the way to an evidence graph: what may stand, and what lies one change away."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from bgr.graph import ROOT, Edge

Edges = frozenset[Edge]


def tidy(edges: Iterable[Edge]) -> Edges | None:
    """Without the facts that do not hang from the question, and without edges beside a longer path between the same
    facts (shortcuts). ``None`` where the edges close a cycle."""
    after: dict[int, list[int]] = {}
    for a, b in edges:
        after.setdefault(a, []).append(b)
    below = _descendants(after)
    if below is None:
        return None
    hung = below.get(ROOT, set()) | {ROOT}
    return frozenset(
        (a, b)
        for a, targets in after.items()
        if a in hung
        for b in targets
        if not any(b in below.get(c, ()) for c in targets)
    )


def _descendants(after: dict[int, list[int]]) -> dict[int, set[int]] | None:
    """All facts below each fact that has one; ``None`` where a fact is below itself."""
    below: dict[int, set[int]] = {}
    waiting: dict[int, int] = {}
    before: dict[int, list[int]] = {}
    for a, targets in after.items():
        waiting[a] = len(targets)
        for b in targets:
            before.setdefault(b, []).append(a)
    ready = [node for node in before if node not in after]
    done = 0
    while ready:
        node = ready.pop()
        done += node in after
        for a in before.get(node, ()):
            below.setdefault(a, set()).update(below.get(node, ()), (node,))
            waiting[a] -= 1
            if not waiting[a]:
                ready.append(a)
    return below if done == len(after) else None


def changes(edges: Edges, addable: Iterable[Edge]) -> Iterator[Edges]:
    """What lies one change away, tidied: an edge taken away, a fact taken out with the edges around it joined, and for
    each edge of `addable` that starts in the graph: added, or put in place of one with the same source or target.

    Empty sets, and the set itself, are left out; the same set may come more than once.
    """
    for other in _untidied(edges, addable):
        found = tidy(other)
        if found and found != edges:
            yield found


def _untidied(edges: Edges, addable: Iterable[Edge]) -> Iterator[Edges]:
    order = sorted(edges)
    for edge in order:
        yield edges - {edge}
    nodes = {b for _, b in order}
    for node in sorted(nodes):
        sources, targets = [a for a, b in order if b == node], [b for a, b in order if a == node]
        if targets:
            kept = frozenset(edge for edge in order if node not in edge)
            yield kept | {(a, b) for a in sources for b in targets}
    for new in addable:
        a, b = new
        if new in edges or (a != ROOT and a not in nodes):
            continue
        yield edges | {new}
        for old in order:
            if old[0] == a or old[1] == b:
                yield (edges - {old}) | {new}
