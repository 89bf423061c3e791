"""Gold tables against plain loops over the graphs."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from bgr.graph.evidence_graph import ROOT, EvidenceGraph
from training.baseline.losses import among_all, contrastive_loss, gold_chains, gold_paths, gold_pointers
from training.retriever.loss import gold_facts

FORK = EvidenceGraph([(ROOT, 2), (2, 0), (2, 4), (ROOT, 1)])
SINGLE = EvidenceGraph([(ROOT, 3)])
JOIN = EvidenceGraph([(ROOT, 0), (ROOT, 1), (0, 2), (1, 2), (2, 3)])


def walk(graph, path=()):
    """Every path of a graph with what is next on it."""
    after = graph.successors(path[-1] if path else ROOT)
    yield path, set(after)
    for fact in after:
        yield from walk(graph, (*path, fact))


@st.composite
def graphs(draw):
    edges = [(a, b) for b in range(5) for a in range(-1, b) if draw(st.booleans())]
    return EvidenceGraph.reachable(edges)


@given(st.lists(graphs(), min_size=1, max_size=4))
def test_gold_paths_are_all_paths(found):
    paths, targets = gold_paths(found, 5, torch.device("cpu"))
    rows = zip(paths.question.tolist(), paths.facts.tolist(), targets.tolist(), strict=True)
    seen = sorted((q, tuple(f for f in facts if f >= 0), tuple(row)) for q, facts, row in rows)
    expected = []
    for number, graph in enumerate(found):
        for path, after in walk(graph):
            expected.append((number, path, (not after, *(fact in after for fact in range(5)))))
    assert seen == sorted(expected)


def test_gold_facts():
    assert gold_facts([FORK, SINGLE], 5).int().tolist() == [[1, 1, 1, 0, 1], [0, 0, 0, 1, 0]]


def test_gold_chains_and_pointers():
    assert gold_chains(FORK) == [[1], [2, 0], [2, 4]]
    assert gold_chains(JOIN) == [[0, 2, 3], [1, 2, 3]]
    written, targets = gold_pointers([FORK, SINGLE], stop=6)
    assert written.tolist() == [[2, 0, 3, 1, 0, 3, 5], [4] + [-1] * 6]
    assert targets.tolist() == [[2, 0, 3, 1, 0, 3, 5, 6], [4, 6] + [-1] * 6]


def test_many_chains_are_cut():
    wide = EvidenceGraph([(ROOT, fact) for fact in range(20)])
    assert gold_chains(wide) == [[fact] for fact in range(16)]


def test_contrastive_loss_equals_a_slow_one():
    generator = torch.Generator().manual_seed(0)
    scores = torch.randn(4, 6, generator=generator)
    scores[0, 5] = scores[2, 1] = -torch.inf
    positives = torch.zeros(4, 6, dtype=torch.bool)
    positives[0, [0, 2]] = positives[1, 3] = positives[2, [0, 4, 5]] = True
    owner = torch.tensor([0, 0, 1, 2])
    rows = []
    for row in range(4):
        negatives = scores[row][~positives[row]].exp().sum()
        losses = [-(s.exp() / (s.exp() + negatives)).log() for s in scores[row][positives[row]]]
        rows.append(float(sum(losses) / max(1, len(losses))))
    expected = ((rows[0] + rows[1]) / 2 + rows[2] + rows[3]) / 3
    assert float(contrastive_loss(scores, positives, owner)) == pytest.approx(expected, abs=1e-5)


def test_columns_among_all_facts_of_the_batch():
    columns = torch.tensor([[True, False, True], [False, True, False], [False, True, True]])
    found = among_all(columns, torch.tensor([0, 0, 1]), torch.tensor([[3, 1], [0, 3]]), facts=4)
    assert [row.nonzero().flatten().tolist() for row in found] == [[0, 2], [4], [1, 4]]
