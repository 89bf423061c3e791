import math

import pytest
import torch

from bgr.graph.evidence_graph import ROOT, EvidenceGraph, next_nodes
from bgr.models.batching import Batch
from bgr.models.ragged import Rows
from training.retriever.loss import (
    LOSSES,
    completeness_loss,
    gold_levels,
    gold_logits,
    gold_relevance,
    multi_label_loss,
    pruner_loss,
)

GRAPHS = [EvidenceGraph([(ROOT, 0), (0, 2)]), EvidenceGraph([(ROOT, 1), (ROOT, 0), (0, 1)])]
COUNTS = [3, 2]


@pytest.fixture
def batch():
    facts = Rows.from_lists([[2, 10 + i, 20 + i, 3] for i in range(4)])
    questions = Rows.from_lists([[2, 30, 31, 3], [2, 32, 3]])
    return Batch(questions, facts, torch.tensor([[0, 1, 2], [3, 1, -1]]))


@pytest.mark.parametrize("direction", ["forward", "backward"])
def test_every_pair_of_gold_path_and_candidate_is_scored_once(make_retriever, batch, direction):
    model = make_retriever(direction, context_layers=1)
    reading = model.encode_batch(batch.questions, batch.facts, batch.candidates)
    levels = gold_levels(GRAPHS, direction, columns=4)
    logits, targets, owner = gold_logits(model, reading, levels)

    expected = []  # one path at a time
    rows = {0: 0, 1: 0}
    for question, graph in enumerate(GRAPHS):

        def walk(paths, row, node, seen, question=question, graph=graph):
            after = next_nodes(graph, node, direction)
            rows[question] += 1
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
    assert {question: owner.tolist().count(question) for question in (0, 1)} == rows
    is_open = logits > float("-inf")
    found = list(zip(targets[is_open].float().tolist(), logits[is_open].tolist(), strict=True))
    torch.testing.assert_close(torch.tensor(sorted(found)), torch.tensor(sorted(expected)), atol=1e-5, rtol=1e-5)


def test_relevance_targets_are_the_gold_facts(make_retriever, batch):
    reading = make_retriever(relevance=True).encode_batch(batch.questions, batch.facts, batch.candidates)
    logits, targets, owner = gold_relevance(reading, GRAPHS)
    assert owner.tolist() == [0, 1]
    assert targets.tolist() == [[True, False, True], [True, True, False]]
    assert (logits > float("-inf")).tolist() == [[True, True, True], [True, True, False]]
    assert logits[1, :2].tolist() == reading.relevance[3:].tolist()


def slow_loss(logits, targets, owner):
    """One row, one label at a time."""
    by_question = {}
    for row, labels, question in zip(logits.tolist(), targets.tolist(), owner.tolist(), strict=True):
        extra = 1 + sum(math.exp(s) for s, label in zip(row, labels, strict=True) if not label)
        missed = 1 + sum(math.exp(-s) for s, label in zip(row, labels, strict=True) if label)
        by_question.setdefault(question, []).append((math.log(extra) + math.log(missed)) / 2)
    means = [sum(rows) / len(rows) for rows in by_question.values()]
    return sum(means) / len(means)


def random_rows(seed, rows, questions):
    rng = torch.Generator().manual_seed(seed)
    logits = 3 * torch.randn(rows, 6, generator=rng)
    targets = torch.rand(rows, 6, generator=rng) < 0.3
    logits[~targets & (torch.rand(rows, 6, generator=rng) < 0.2)] = float("-inf")
    # every question has a row at least, in any order
    owner = torch.cat([torch.arange(questions), torch.randint(questions, (rows - questions,), generator=rng)])
    return logits, targets, owner[torch.randperm(rows, generator=rng)]


@pytest.mark.parametrize("seed", range(5))
def test_loss_equals_its_slow_twin(seed):
    rows = random_rows(seed, rows=9 + seed, questions=4)
    assert multi_label_loss(*rows).item() == pytest.approx(slow_loss(*rows), rel=1e-5)


def test_the_loss_of_a_batch_is_the_mean_of_its_halves():
    logits, targets, owner = random_rows(7, rows=20, questions=8)
    halves = [multi_label_loss(logits[part], targets[part], owner[part] % 4) for part in (owner < 4, owner >= 4)]
    assert multi_label_loss(logits, targets, owner).item() == pytest.approx(float(sum(halves)) / 2, rel=1e-5)


def test_loss_by_hand():
    logits = torch.tensor([[0.3, -1.0, 2.0, float("-inf")], [-0.5, -2.0, float("-inf"), float("-inf")]])
    targets = torch.tensor([[True, False, True, False], [False, False, False, False]])
    first = math.log(1 + math.exp(-1.0)) + math.log(1 + math.exp(-0.3) + math.exp(-2.0))
    second = math.log(1 + math.exp(-0.5) + math.exp(-2.0))
    assert multi_label_loss(logits, targets, torch.tensor([0, 1])).item() == pytest.approx((first + second) / 4)
    assert multi_label_loss(logits, targets, torch.tensor([0, 0])).item() == pytest.approx((first + second) / 4)
    twice = torch.tensor([0, 1, 0])  # the first row again: its question weighs no more
    rows = multi_label_loss(logits[[0, 1, 0]], targets[[0, 1, 0]], twice)
    assert rows.item() == pytest.approx((first + second) / 4)


def test_loss_of_a_column_that_is_closed_has_no_gradient():
    logits = torch.tensor([[0.3, float("-inf")]], requires_grad=True)
    multi_label_loss(logits, torch.tensor([[True, False]]), torch.tensor([0])).backward()
    assert logits.grad is not None
    assert logits.grad[0, 0] < 0
    assert logits.grad[0, 1] == 0


def test_binary_cross_entropy_by_hand():
    logits = torch.tensor([[0.0, 2.0, float("-inf")], [1.0, -1.0, 0.5]])
    targets = torch.tensor([[False, True, False], [False, True, True]])
    first = (math.log(2) + math.log(1 + math.exp(-2))) / 2
    second = (math.log(1 + math.e) * 2 + math.log(1 + math.exp(-0.5))) / 3
    found = LOSSES["bce"](logits, targets, torch.tensor([0, 1]))
    assert found.item() == pytest.approx((first + second) / 2)


@pytest.mark.parametrize("name", sorted(LOSSES))
def test_rows_that_do_not_count_have_no_gradient_and_stay_in_the_mean(name):
    torch.manual_seed(0)
    logits, targets = torch.randn(3, 4, requires_grad=True), torch.rand(3, 4) > 0.5
    owner, counted = torch.tensor([0, 0, 1]), torch.tensor([True, True, False])
    found = LOSSES[name](logits, targets, owner, counted)
    found.backward()
    assert not logits.grad[2].any()
    assert logits.grad[:2].any()
    assert found.item() == pytest.approx(LOSSES[name](logits[:2], targets[:2], owner[:2]).item() / 2)


def test_the_pruner_is_trained_in_every_round_on_questions_with_an_answer():
    scores = torch.zeros(2, 2, 3).index_fill(2, torch.tensor([2]), float("-inf")).requires_grad_()
    pruner_loss(scores, [EvidenceGraph([(ROOT, 0)]), EvidenceGraph()], torch.tensor([True, False])).backward()
    assert (scores.grad[:, 0, 0] < 0).all()
    assert (scores.grad[:, 0, 1] > 0).all()
    assert not scores.grad[:, 1].any()
    assert not scores.grad[..., 2].any()


def test_completeness_by_hand():
    loss = completeness_loss(torch.tensor([2.0, -1.0]), torch.tensor([True, False]))
    assert loss.item() == pytest.approx((math.log(1 + math.exp(-2)) + math.log(1 + math.exp(-1))) / 2)
