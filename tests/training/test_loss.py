import math

import pytest
import torch

from bgr.graph import ROOT, EvidenceGraph
from bgr.models.batching import Batch
from bgr.models.ragged import Ragged
from training.gold_paths import gold_levels, next_nodes
from training.loss import gold_logits, gold_relevance, multi_label_loss

GRAPHS = [EvidenceGraph([(ROOT, 0), (0, 2)]), EvidenceGraph([(ROOT, 1), (ROOT, 0), (0, 1)])]
COUNTS = [3, 2]


@pytest.fixture
def batch():
    facts = Ragged.from_lists([[2, 10 + i, 20 + i, 3] for i in range(4)])
    questions = Ragged.from_lists([[2, 30, 31, 3], [2, 32, 3]])
    return Batch(questions, facts, torch.tensor([[0, 1, 2], [3, 1, -1]]))


@pytest.mark.parametrize("direction", ["forward", "backward"])
def test_every_pair_of_gold_path_and_candidate_is_scored_once(make_retriever, batch, direction):
    model = make_retriever(direction, context_layers=1)
    reading = model.read(batch.questions, batch.facts, batch.candidates)
    levels = gold_levels(GRAPHS, direction, columns=4)
    logits, targets = gold_logits(model, reading, levels)

    expected = []  # one path at a time
    for question, graph in enumerate(GRAPHS):

        def walk(paths, row, node, seen, question=question, graph=graph):
            after = next_nodes(graph, node, direction)
            scores = model.match(reading, paths)[row]
            for place in range(COUNTS[question] + 1):
                fact = place - 1
                allowed = fact not in seen and (fact != ROOT or (direction == "backward" and node is not None))
                if allowed:
                    expected.append((float(fact in after), scores[place].item()))
            for fact in after:
                if fact != ROOT:
                    step = model.extend(reading, paths, torch.tensor([row]), torch.tensor([fact + 1]))
                    walk(step, 0, fact, {*seen, fact})

        walk(model.start(reading), question, None, set())
    is_open = logits > float("-inf")
    found = list(zip(targets[is_open].float().tolist(), logits[is_open].tolist(), strict=True))
    torch.testing.assert_close(torch.tensor(sorted(found)), torch.tensor(sorted(expected)), atol=1e-5, rtol=1e-5)


def test_relevance_targets_are_the_gold_facts(make_retriever, batch):
    reading = make_retriever().read(batch.questions, batch.facts, batch.candidates)
    logits, targets = gold_relevance(reading, GRAPHS)
    assert targets.tolist() == [[True, False, True], [True, True, False]]
    assert (logits > float("-inf")).tolist() == [[True, True, True], [True, True, False]]
    assert logits[1, :2].tolist() == reading.relevance[3:].tolist()


def test_loss_by_hand():
    logits = torch.tensor([[0.3, -1.0, 2.0, float("-inf")], [-0.5, -2.0, float("-inf"), float("-inf")]])
    targets = torch.tensor([[True, False, True, False], [False, False, False, False]])
    first = math.log(1 + math.exp(-1.0)) + math.log(1 + math.exp(-0.3) + math.exp(-2.0))
    second = math.log(1 + math.exp(-0.5) + math.exp(-2.0))
    assert multi_label_loss(logits, targets).item() == pytest.approx((first + second) / 4)


def test_loss_of_a_column_that_is_closed_has_no_gradient():
    logits = torch.tensor([[0.3, float("-inf")]], requires_grad=True)
    multi_label_loss(logits, torch.tensor([[True, False]])).backward()
    assert logits.grad is not None
    assert logits.grad[0, 0] < 0
    assert logits.grad[0, 1] == 0
