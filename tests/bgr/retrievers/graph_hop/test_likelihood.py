import itertools
import math
import random

import networkx as nx
import pytest

from bgr.graph.evidence_graph import ROOT, EvidenceGraph
from bgr.retrievers.graph_hop.likelihood import FLOOR, Step, log_likelihood


def sigmoid(x):
    return 1 / (1 + math.exp(-x))


def step(logits):
    return Step(sum(math.log(1 - sigmoid(v)) for v in logits.values()), {n: v for n, v in logits.items() if v > FLOOR})


def slow(graph, logits, forward):
    """By the definition: each node's mean, over the paths to it, of ``Σ log p`` over what follows and ``Σ log (1 - p)``
    over what does not."""
    tree = graph.to_networkx()
    if not forward:
        tree = tree.reverse()
    tree = nx.DiGraph(tree.edges)
    start = graph.successors(ROOT) if forward else graph.leaves
    tree.add_edges_from(("start", node) for node in start)
    if forward:
        tree.remove_node(ROOT)
    total = 0.0
    for node in tree:
        if node == ROOT:
            continue
        paths = [("start",)] if node == "start" else list(nx.all_simple_paths(tree, "start", node))
        values = []
        for path in paths:
            following, said = set(tree.successors(node)), logits[tuple(path[1:])]
            values.append(sum(math.log(sigmoid(v) if n in following else 1 - sigmoid(v)) for n, v in said.items()))
        total += sum(values) / len(values)
    return total


@pytest.mark.parametrize("forward", [True, False])
def test_equal_to_the_definition(forward):
    rng = random.Random(0)
    for _ in range(100):
        order = rng.sample(range(6), rng.randint(1, 6))
        edges = [(rng.choice([ROOT, *order[:i]]), n) for i, n in enumerate(order) for _ in range(2)]
        graph = EvidenceGraph(edges)
        logits, steps = {}, {}

        def walk(path, following, graph=graph, logits=logits, steps=steps):
            logits[path] = {n: rng.uniform(-6, 6) for n in range(ROOT, 6) if n not in path}
            steps[path] = step(logits[path])
            for node in following:
                if node != ROOT:
                    walk((*path, node), graph.successors(node) if forward else graph.predecessors(node))

        walk((), graph.successors(ROOT) if forward else graph.leaves)
        assert log_likelihood(graph.edges, steps, forward=forward) == pytest.approx(slow(graph, logits, forward))


def test_all_graphs_of_one_fact_and_none_have_a_chance_of_one_together():
    steps = {(): step({0: 0.7}), (0,): step({})}
    none, one = log_likelihood([], steps, forward=True), log_likelihood([(ROOT, 0)], steps, forward=True)
    assert math.exp(none) + math.exp(one) == pytest.approx(1)


def test_a_path_never_walked_takes_the_word_of_others_to_the_same_fact():
    steps = {(): step({0: 2.0, 1: 2.0}), (1,): step({0: 1.0}), (1, 0): step({2: 3.0})}
    found = log_likelihood([(ROOT, 0), (0, 2)], steps, forward=True)
    known = steps[()].log_probability([0]) + steps[1, 0].log_probability([2])
    assert found == pytest.approx(known)  # nobody came to 2


def test_what_was_not_told_apart_counts_as_the_floor():
    assert step({0: -20.0}).log_probability([0]) == pytest.approx(FLOOR, abs=1e-3)


def test_many_paths_are_cut_off():
    # 2 ** 20 paths through 20 pairs of facts
    pairs = [(2 * i, 2 * i + 1) for i in range(20)]
    between = [(a, b) for x, y in itertools.pairwise(pairs) for a in x for b in y]
    edges = [(ROOT, n) for n in pairs[0]] + between
    assert log_likelihood(edges, {(): step({0: 1.0, 1: 1.0})}, forward=True) < 0
