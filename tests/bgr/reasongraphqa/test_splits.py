"""Splits and what they hold out; classes of isomorphic graphs."""

from __future__ import annotations

from collections import Counter
from itertools import combinations
from random import Random

import networkx as nx
import pytest

from bgr.graph import ROOT, EvidenceGraph
from bgr.reasongraphqa.isomorphism import structure_classes
from bgr.reasongraphqa.splits import entity_split, random_split, structure_split


def random_graph(rng: Random, nodes: int) -> EvidenceGraph:
    names = rng.sample(range(20), nodes)
    edges = []
    for place, name in enumerate(names):
        before = [ROOT, *names[:place]]
        edges += [(a, name) for a in rng.sample(before, rng.randint(1, min(2, len(before))))]
    return EvidenceGraph(edges)


@pytest.fixture(scope="module")
def graphs():
    rng = Random(5)
    return [random_graph(rng, rng.choice((1, 1, 2, 2, 2, 3, 3, 4))) for _ in range(400)]


def slow_isomorphic(a: EvidenceGraph, b: EvidenceGraph) -> bool:
    left, right = a.to_networkx(), b.to_networkx()
    for graph in (left, right):
        nx.set_node_attributes(graph, {node: node == ROOT for node in graph}, "root")
    return nx.is_isomorphic(left, right, node_match=lambda x, y: x["root"] == y["root"])


def test_classes_are_those_of_pairwise_comparison(graphs):
    some = graphs[:70]
    classes = structure_classes(some)
    for (i, a), (j, b) in combinations(enumerate(some), 2):
        assert (classes[i] == classes[j]) is slow_isomorphic(a, b)
    assert classes[0] == 0
    assert len(set(classes)) > 8


def test_the_root_is_pinned():
    # without its root's place a chain of three is a chain of three; here the fork stands at the root or below it
    fork_at_root = EvidenceGraph([(ROOT, 0), (ROOT, 1), (1, 2)])
    fork_below = EvidenceGraph([(ROOT, 0), (0, 1), (0, 2)])
    assert structure_classes([fork_at_root, fork_below, fork_at_root.relabel({0: 7, 1: 3, 2: 5})]) == [0, 1, 0]


def test_random_split_is_eight_one_one():
    split = random_split(1000, seed=1)
    assert Counter(split) == {"train": 800, "dev": 100, "test": 100}
    assert split == random_split(1000, seed=1) != random_split(1000, seed=2)
    assert Counter(random_split(3, seed=0)) == {"train": 3}


def test_structures_are_held_out(graphs):
    split = structure_split(graphs, seed=1)
    classes = structure_classes(graphs)
    of = {name: {c for c, s in zip(classes, split, strict=True) if s == name} for name in ("train", "dev", "test")}
    assert not of["train"] & of["dev"]
    assert not of["train"] & of["test"]
    assert not of["dev"] & of["test"]
    for name in ("dev", "test"):
        assert 0.05 * len(graphs) < split.count(name) <= 0.1 * len(graphs)
    assert split == structure_split(graphs, seed=1)


def test_entities_are_held_out():
    rng = Random(3)
    # one entity in every question, others rare
    entities = [frozenset({"everywhere", *(f"e{rng.randrange(300)}" for _ in range(2))}) for _ in range(500)]
    split = entity_split(entities, seed=1)
    train = {e for group, s in zip(entities, split, strict=True) if s == "train" for e in group}
    for group, name in zip(entities, split, strict=True):
        if name != "train":
            assert group - train, "every held-out question is about an entity that train lacks"
    assert "everywhere" in train
    for name in ("dev", "test"):
        assert 50 <= split.count(name) <= 60
    assert split == entity_split(entities, seed=1)
