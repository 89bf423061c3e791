import random

import pytest

from bgr.graph.evidence_graph import ROOT, EvidenceGraph
from training.retriever.loss import gold_levels

JOIN = EvidenceGraph([(ROOT, 0), (ROOT, 1), (0, 2), (1, 2), (2, 3)])
SINGLE = EvidenceGraph([(ROOT, 4)])
BOTH = EvidenceGraph([(ROOT, 0), (ROOT, 1), (0, 1)])  # fact 1 hangs from the question and from a fact


def walk(levels):
    """Every gold path as the tuple of its facts, with the facts that are next, question by question."""
    found, before = [], []
    for depth, level in enumerate(levels):
        here = []
        for parent, column, target in zip(
            level.parents.tolist(), level.columns.tolist(), level.targets.tolist(), strict=True
        ):
            question, facts = (parent, ()) if depth == 0 else (before[parent][0], (*before[parent][1], column - 1))
            here.append((question, facts))
            found.append((question, facts, tuple(i - 1 for i, yes in enumerate(target) if yes)))
        before = here
    return sorted(found)


def plain(graph, direction, node=None):
    if direction == "forward":
        return sorted(b for a, b in graph.edges if a == (ROOT if node is None else node))
    if node is None:
        return sorted(n for n in graph.nodes if all(a != n for a, _ in graph.edges))
    return sorted(a for a, b in graph.edges if b == node)


def slow(graphs, direction):
    """All paths by recursion, one graph at a time."""
    found = []

    def go(question, facts):
        after = plain(graphs[question], direction, facts[-1] if facts else None)
        found.append((question, facts, tuple(after)))
        for fact in after:
            if fact != ROOT:
                go(question, (*facts, fact))

    for question in range(len(graphs)):
        go(question, ())
    return sorted(found)


def random_graph(rng):
    size = rng.randint(1, 6)
    edges = [(rng.choice([ROOT, *range(i)]), i) for i in range(size)]
    edges += [(rng.choice([ROOT, *range(i)]), i) for i in range(size) if rng.random() < 0.4]
    return EvidenceGraph(edges)


@pytest.mark.parametrize("direction", ["forward", "backward"])
def test_equals_plain_recursion(direction):
    rng = random.Random(0)
    graphs = [JOIN, SINGLE, BOTH, *(random_graph(rng) for _ in range(40))]
    assert walk(gold_levels(graphs, direction, columns=8)) == slow(graphs, direction)


@pytest.mark.parametrize("direction", ["forward", "backward"])
def test_a_single_fact_is_a_positive(direction):
    """The authors' code labels a fact that is both first and last nowhere."""
    levels = gold_levels([SINGLE], direction, columns=6)
    assert levels[0].targets.nonzero().tolist() == [[0, 5]]
    expected = [[0, 0]] if direction == "backward" else []
    assert levels[1].targets.nonzero().tolist() == expected


def test_backward_can_say_question_and_fact_before():
    levels = gold_levels([BOTH], "backward", columns=4)
    assert levels[1].targets.tolist() == [[True, True, False, False]]


def test_most_paths_bounds_a_level():
    wide = EvidenceGraph([(ROOT, i) for i in range(9)])
    assert len(gold_levels([wide, SINGLE], "forward", columns=10, max_paths=3)[1].parents) == 4
