import torch

from bgr.graph.evidence_graph import ROOT, EvidenceGraph
from training.retriever.module import hard_columns, in_columns

GRAPHS = [EvidenceGraph([(ROOT, 3), (3, 0)]), EvidenceGraph()]


def test_gold_facts_and_the_best_others():
    scores = torch.tensor([[-9.0, 1.0, 2.0, -9.0, 3.0], [0.0, 5.0, 1.0, float("-inf"), float("-inf")]])
    assert hard_columns(scores, GRAPHS, 3).tolist() == [[0, 3, 4], [0, 1, 2]]
    assert hard_columns(scores, GRAPHS, 1).tolist() == [[0, 3], [1, 2]]  # no gold fact is left out
    assert hard_columns(scores, GRAPHS, 9).tolist() == [[0, 1, 2, 3, 4], [0, 1, 2, -1, -1]]


def test_a_graph_over_some_candidates():
    assert in_columns(GRAPHS[0], [0, 2, 3, -1]).edges == {(ROOT, 2), (2, 0)}
    chain = EvidenceGraph([(ROOT, 1), (1, 4), (4, 5), (ROOT, 5)])
    # without fact 4, fact 5 has only its edge from the question
    assert in_columns(chain, [1, 5], whole=False).edges == {(ROOT, 0), (ROOT, 1)}
