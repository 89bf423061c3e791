"""The graph edit distance against networkx with the root pinned, against an exhaustive search, and its properties."""

import itertools
import math
import random
import time
from itertools import permutations

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bgr.graph.evidence_graph import ROOT, EvidenceGraph
from bgr.metrics import ged as ged_search
from bgr.metrics.ged import GedResult, graph_edit_distance, released_graph_edit_distance
from bgr.metrics.ged_bounds import Side, good_order, relax
from bgr.metrics.ged_quick import quick_gain
from bgr.metrics.gm_gs import graph_match, graph_structure_match
from eval.bench.ged import Pair, against_networkx, everyday_pairs, large_pairs

EMPTY = EvidenceGraph()
FORBIDDEN = 1000


def random_graph(rng: random.Random, facts: int, pool: int = 8, extra: float = 0.3) -> EvidenceGraph:
    """A random rooted DAG over `facts` of the fact numbers 0 … pool-1; a tree with extra=0."""
    nodes = rng.sample(range(pool), facts)
    edges = []
    for place, node in enumerate(nodes):
        parents = 1 + (rng.random() < extra)
        edges += [(p, node) for p in rng.sample([ROOT, *nodes[:place]], min(parents, place + 1))]
    return EvidenceGraph(edges)


@st.composite
def graphs(draw: st.DrawFn) -> EvidenceGraph:
    return random_graph(random.Random(draw(st.integers(0, 2**32))), draw(st.integers(0, 7)))


def networkx_says(a: EvidenceGraph, b: EvidenceGraph, labeled: bool) -> float:
    first, second = a.to_networkx(), b.to_networkx()
    for graph in (first, second):
        nx.set_node_attributes(graph, {n: n for n in graph}, "name")

    def replace(x: dict, y: dict) -> int:
        if (x["name"] == ROOT) != (y["name"] == ROOT):
            return FORBIDDEN
        return int(labeled and x["name"] != y["name"])

    def single(x: dict) -> int:
        return FORBIDDEN if x["name"] == ROOT else 1

    return nx.graph_edit_distance(first, second, node_subst_cost=replace, node_del_cost=single, node_ins_cost=single)


def exhaustive(a: EvidenceGraph, b: EvidenceGraph, labeled: bool) -> int:
    """The minimum cost over all mappings of the facts of `a` to facts of `b` or to nothing, by the definition."""
    best = 10**6
    for images in set(permutations([*b.nodes, *[None] * len(a.nodes)], len(a.nodes))):
        image = {ROOT: ROOT, **dict(zip(a.nodes, images, strict=True))}
        kept = [v for v in images if v is not None]
        cost = len(a.nodes) - len(kept) + len(b.nodes) - len(kept)
        cost += sum(labeled and v is not None and u != v for u, v in image.items())
        mapped = {(image[u], image[v]) for u, v in a.edges if image[u] is not None and image[v] is not None}
        cost += len(a.edges) - len(mapped & b.edges) + len(b.edges - mapped)
        best = min(best, cost)
    return best


@pytest.mark.parametrize("labeled", [False, True])
@pytest.mark.parametrize("seed", range(3))
def test_equals_networkx(seed, labeled):
    rng = random.Random(seed)
    for _ in range(60):
        a, b = random_graph(rng, rng.randint(0, 5)), random_graph(rng, rng.randint(0, 5))
        found = graph_edit_distance(a, b, labeled=labeled, time_limit=None)
        assert found.exact
        assert found.lower == found.upper == networkx_says(a, b, labeled), (a, b)


@pytest.mark.parametrize("labeled", [False, True])
def test_equals_exhaustive_search(labeled):
    rng = random.Random(5)
    for _ in range(60):
        a, b = random_graph(rng, rng.randint(0, 4), pool=6, extra=0.6), random_graph(rng, rng.randint(0, 4), pool=6)
        assert graph_edit_distance(a, b, labeled=labeled).upper == exhaustive(a, b, labeled), (a, b)


@pytest.mark.parametrize("labeled", [False, True])
def test_symmetry_rules_lose_nothing(labeled):
    """Bushy trees with many interchangeable parts, where both rules of `candidates` cut the most."""
    rng = random.Random(6)
    for _ in range(5):
        a, b = (
            EvidenceGraph([(ROOT, n) if n < k else (rng.randrange(k), n) for n in range(6)])
            for k in (rng.randint(1, 4), rng.randint(1, 4))
        )
        b = b.relabel({n: n + 3 for n in range(6)})
        assert graph_edit_distance(a, b, labeled=labeled).upper == networkx_says(a, b, labeled), (a, b)


def test_known_distances():
    chain = EvidenceGraph([(ROOT, 0), (0, 1)])
    star = EvidenceGraph([(ROOT, 0), (ROOT, 1)])
    renamed = EvidenceGraph([(ROOT, 2), (2, 1)])
    assert graph_edit_distance(chain, star) == GedResult(2, 2, True)
    assert graph_edit_distance(chain, renamed) == GedResult(0, 0, True)
    assert graph_edit_distance(chain, renamed, labeled=True) == GedResult(1, 1, True)
    assert graph_edit_distance(EMPTY, chain) == graph_edit_distance(chain, EMPTY) == GedResult(4, 4, True)
    assert graph_edit_distance(EMPTY, EMPTY) == GedResult(0, 0, True)


@given(graphs(), graphs(), graphs(), st.booleans())
def test_it_is_a_metric(a, b, c, labeled):
    def distance(x: EvidenceGraph, y: EvidenceGraph) -> int:
        found = graph_edit_distance(x, y, labeled=labeled, time_limit=None)
        assert found.exact
        return found.upper

    same = graph_match if labeled else graph_structure_match
    assert distance(a, a) == 0
    assert distance(a, b) == distance(b, a)
    assert (distance(a, b) == 0) == same(a, b)
    assert distance(a, c) <= distance(a, b) + distance(b, c)
    assert graph_edit_distance(a, b).upper <= graph_edit_distance(a, b, labeled=True).upper


def test_renaming_is_free_unlabeled():
    rng = random.Random(2)
    for _ in range(30):
        graph = random_graph(rng, 10, pool=12)
        other = graph.relabel(dict(zip(range(12), rng.sample(range(12), 12), strict=True)))
        assert graph_edit_distance(graph, other) == GedResult(0, 0, True)


@pytest.mark.slow
@pytest.mark.parametrize("labeled", [False, True])
def test_equals_networkx_on_everyday_pairs(labeled):
    found = against_networkx(everyday_pairs(2000, random.Random(1)), labeled)
    assert found["differing"] == []


def pairs_of(facts: int, count: int, seed: int) -> list[Pair]:
    return [
        *large_pairs(facts, count // 2, random.Random(seed), related=False),
        *large_pairs(facts, count // 2, random.Random(seed), related=True),
    ]


@pytest.mark.parametrize("labeled", [False, True])
@pytest.mark.parametrize("more", [0, 5])
def test_second_stage_alone_gives_the_same(labeled, more, monkeypatch):
    """Everyday pairs are solved by the first stage; here the second stage solves all, with and without help."""
    pairs = [*everyday_pairs(30, random.Random(1)), *pairs_of(8, 6, seed=2)]
    expected = [graph_edit_distance(a, b, labeled=labeled, time_limit=None) for a, b in pairs]
    monkeypatch.setattr(ged_search, "FIRST_VISITS", 0)
    monkeypatch.setattr(ged_search, "MORE_VISITS", more)
    for (a, b), distance in zip(pairs, expected, strict=True):
        assert graph_edit_distance(a, b, labeled=labeled, time_limit=None) == distance, (a, b)


@pytest.mark.parametrize("labeled", [False, True])
def test_bounds_of_every_stage_hold(labeled):
    """Bounds are at least the greatest gain, local search is at most that, and they are often equal."""
    closed = 0
    for a, b in pairs_of(9, 16, seed=3):
        sides = sorted((Side.of(a.edges), Side.of(b.edges)), key=lambda side: len(side.facts))
        base = len(sides[1].facts) - len(sides[0].facts) + len(a.edges) + len(b.edges)
        gain = base - graph_edit_distance(a, b, labeled=labeled, time_limit=None).upper
        facts = [np.array(side.facts) for side in sides]
        replaced = ((facts[0][:, None] != facts[1]) & labeled).astype(int)
        replaced[0] = replaced[:, 0] = 0
        order, found = good_order(sides[0].matrix(), sides[1].matrix(), replaced, math.inf)
        chosen = order[: len(facts[0])]
        common = (sides[0].matrix() * sides[1].matrix()[np.ix_(chosen, chosen)]).sum()
        assert found == 2 * common - replaced[range(len(chosen)), chosen].sum()
        bound = relax(sides[0], sides[1], replaced, found, math.inf).bound
        assert found <= gain <= bound + 1e-6
        for visits in (1, 10, 100):
            assert quick_gain(sides[0], sides[1], labeled=labeled, visits=visits).bound >= gain
        closed += found == gain and bound < gain + 1
    assert closed > 4


@pytest.mark.parametrize("labeled", [False, True])
def test_out_of_time_is_flagged_and_the_bounds_hold(labeled, monkeypatch):
    monkeypatch.setattr(ged_search, "FIRST_VISITS", 20)
    flagged = 0
    for a, b in pairs_of(10, 12, seed=4):
        true = graph_edit_distance(a, b, labeled=labeled, time_limit=None)
        assert true.exact
        for limit in (0.0, 0.002, 0.01):
            cut = graph_edit_distance(a, b, labeled=labeled, time_limit=limit)
            flagged += not cut.exact
            assert cut.lower <= true.upper <= cut.upper
            assert cut.exact == (cut.lower == cut.upper)
    assert flagged > 3


def test_the_time_limit_is_kept(monkeypatch):
    """On a clock that advances by a millisecond each time it is read."""
    reads = itertools.count()
    monkeypatch.setattr(time, "perf_counter", lambda: next(reads) / 1000)
    for a, b in large_pairs(24, 2, random.Random(5), related=False):
        before = next(reads)
        found = graph_edit_distance(a, b, labeled=True, time_limit=0.02)
        assert next(reads) - before < 20 + 10  # each stage reads it once more
        assert not found.exact
        assert 0 < found.lower <= found.upper <= len(a.edges) + len(b.edges) + 48


def test_large_graphs_close_to_gold_are_exact():
    """24 facts, the paper's maximum, with three edges moved: exact, well within the limit."""
    rng = random.Random(4)
    for _ in range(5):
        gold = random_graph(rng, 24, pool=24, extra=0.1)
        edges = sorted(gold.edges)
        for place in rng.sample(range(len(edges)), 3):
            edges[place] = (ROOT, edges[place][1])
        predicted = EvidenceGraph.reachable(edges)
        for labeled in (False, True):
            found = graph_edit_distance(predicted, gold, labeled=labeled, time_limit=5.0)
            assert found.exact
            assert found.upper <= 6


def test_most_small_graphs_are_settled_in_the_first_stage(monkeypatch):
    rng, searches = random.Random(7), []
    search = ged_search._Search
    monkeypatch.setattr(ged_search, "_Search", lambda *args: searches.append(args) or search(*args))
    for _ in range(200):
        graph_edit_distance(random_graph(rng, rng.randint(3, 6)), random_graph(rng, rng.randint(3, 6)))
    assert len(searches) < 20


def test_released_variant_lets_the_root_move():
    fork = EvidenceGraph([(ROOT, 0), (0, 1), (0, 2), (0, 3)])
    crossing = EvidenceGraph([(ROOT, 0), (ROOT, 1), (0, 2), (1, 2), (2, 3)])
    for a, b in ((fork, crossing), (fork, EMPTY), (EMPTY, EMPTY)):
        assert released_graph_edit_distance(a, b) <= graph_edit_distance(a, b).upper
    # Q, in the middle of one graph's picture, may become a fact: three facts below one node, or three below Q
    wide = EvidenceGraph([(ROOT, 0), (ROOT, 1), (ROOT, 2)])
    low = EvidenceGraph([(ROOT, 3), (3, 0), (3, 1), (3, 2)])
    assert released_graph_edit_distance(wide, low) == 2
    assert graph_edit_distance(wide, low).upper > 2
