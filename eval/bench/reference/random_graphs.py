"""Random pairs of evidence graphs for benchmarks of graph metrics: unrelated pairs, and gold graphs with mistakes."""

from __future__ import annotations

import random

from bgr.graph.evidence_graph import ROOT, Edge, EvidenceGraph

Pair = tuple[EvidenceGraph, EvidenceGraph]

SIZES = {1: 215, 2: 204, 3: 270, 4: 157, 5: 56, 6: 62, 7: 20}
"""Number of the demo's 1,000 test questions with each number of gold facts, without the 16 with more than seven."""

SPARE = 4
"""Additional fact numbers, so that two graphs share some facts but not all."""

TWO_PARENTS = 0.15
"""Probability that a fact has two predecessors."""


def random_graph(rng: random.Random, facts: int, pool: int, two_parents: float = TWO_PARENTS) -> EvidenceGraph:
    """A random rooted DAG over `facts` of the fact numbers below `pool`."""
    nodes = rng.sample(range(pool), facts)
    edges: list[Edge] = []
    for i, node in enumerate(nodes):
        parents = min(1 + (rng.random() < two_parents), i + 1)
        edges += [(parent, node) for parent in rng.sample([ROOT, *nodes[:i]], parents)]
    return EvidenceGraph(edges)


def with_mistakes(rng: random.Random, gold: EvidenceGraph, mistakes: int, pool: int) -> EvidenceGraph:
    """The graph after a number of mistakes: a fact is moved, left out, added or replaced, or an edge is added."""
    edges, order = set(gold.edges), gold.order()
    for _ in range(mistakes):
        free = sorted(set(range(pool)) - set(order))
        kind = rng.choice(("hang", "drop", "add", "replace", "edge"))
        if kind == "add" and free:
            fact = rng.choice(free)
            edges.add((rng.choice([ROOT, *order]), fact))
            order.append(fact)
        elif kind == "replace" and free and order:
            old, new = rng.choice(order), rng.choice(free)
            edges = {(new if a == old else a, new if b == old else b) for a, b in edges}
            order[order.index(old)] = new
        elif kind == "drop" and len(order) > 1:
            leaf = rng.choice([n for n in order if all(a != n for a, _ in edges)])
            edges = {(a, b) for a, b in edges if b != leaf}
            order.remove(leaf)
        elif kind in ("hang", "edge") and order:
            i = rng.randrange(len(order))
            if kind == "hang":
                edges.remove(rng.choice(sorted(edge for edge in edges if edge[1] == order[i])))
            edges.add((rng.choice([ROOT, *order[:i]]), order[i]))
    return EvidenceGraph(edges)


def everyday_pairs(count: int, rng: random.Random) -> list[Pair]:
    """Pairs with the sizes of real questions; every other one is a gold graph and the same graph with mistakes."""
    pairs = []
    for number in range(count):
        first, second = rng.choices(list(SIZES), weights=list(SIZES.values()), k=2)
        pool = max(first, second) + SPARE
        gold = random_graph(rng, first, pool)
        if number % 2:
            pairs.append((with_mistakes(rng, gold, rng.randint(0, 3), pool), gold))
        else:
            pairs.append((random_graph(rng, second, pool), gold))
    return pairs


def large_pairs(facts: int, count: int, rng: random.Random, *, related: bool) -> list[Pair]:
    """Pairs of large graphs: a gold graph and the same with up to six mistakes, or two unrelated graphs."""
    pool = facts + SPARE
    pairs = []
    for _ in range(count):
        gold = random_graph(rng, facts, pool)
        other = with_mistakes(rng, gold, rng.randint(1, 6), pool) if related else random_graph(rng, facts, pool)
        pairs.append((other, gold))
    return pairs
