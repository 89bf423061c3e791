"""Decoding with a scripted matcher: the model's scores are given, everything else is real."""

import random

import networkx as nx
import pytest
import torch

from bgr.graph.dag import acyclic
from bgr.graph.evidence_graph import ROOT, EvidenceGraph, next_nodes
from bgr.models.batching import Batch
from bgr.models.ragged import Rows
from bgr.models.retriever import Paths
from bgr.retrievers.graph_hop.decode import decode
from bgr.retrievers.graph_hop.likelihood import graph_at

FACTS = 6


class Oracle:
    """Follows given graphs: the successors of each path's last fact get high scores, all other facts low ones."""

    def __init__(self, model, graphs, chance=0.9):
        self.config, self.graphs, self.chance = model.config, graphs, chance
        self.model = model

    def start(self, reading):
        paths = self.model.start(reading)
        return Paths(torch.full((len(paths.question), 1), -2.0), paths.question, paths.last, paths.open)

    def extend(self, reading, paths, parents, columns):
        is_open = paths.open[parents].clone()
        is_open[torch.arange(len(columns)), columns] = False
        is_open[:, 0] = self.config.direction == "backward"
        last = columns - 1
        return Paths(last.float()[:, None], paths.question[parents], last, is_open)

    def match(self, reading, paths):
        logits = torch.full(paths.open.shape, -5.0)
        for row, (question, last) in enumerate(zip(paths.question.tolist(), paths.states[:, 0].tolist(), strict=True)):
            node = None if last == -2 else int(last)
            for after in next_nodes(self.graphs[question], node, self.config.direction):
                logits[row, after + 1] = torch.tensor(self.chance).logit()
        return logits.masked_fill(~paths.open, float("-inf"))


@pytest.fixture
def decode_graphs(make_retriever):
    def go(graphs, direction, **settings):
        model = make_retriever(direction, **settings)
        count = len(graphs)
        batch = Batch(
            Rows.from_lists([[2, 5, 3]] * count),
            Rows.from_lists([[2, 6 + i, 3] for i in range(FACTS)]),
            torch.arange(FACTS).repeat(count, 1),
        )
        reading = model.encode_batch(batch.questions, batch.facts, batch.candidates)
        return decode(Oracle(model, graphs), reading)

    return go


def random_graph(rng):
    size = rng.randint(1, FACTS)
    edges = [(rng.choice([ROOT, *range(i)]), i) for i in range(size)]
    return EvidenceGraph(edges + [(rng.choice([ROOT, *range(i)]), i) for i in range(size) if rng.random() < 0.4])


@pytest.mark.parametrize("direction", ["forward", "backward"])
def test_a_perfect_model_gives_the_gold_graph(decode_graphs, direction):
    rng = random.Random(1)
    graphs = [random_graph(rng) for _ in range(60)]
    graphs.append(EvidenceGraph([(ROOT, 0), (ROOT, 1), (0, 1)]))
    results = decode_graphs(graphs, direction)
    assert [r.graph for r in results] == graphs
    assert all(r.limits == () for r in results)


def test_scores_are_probabilities_of_the_edges(decode_graphs):
    (result,) = decode_graphs([EvidenceGraph([(ROOT, 0), (0, 1)])], "forward")
    assert result.graph.scores == pytest.approx({(ROOT, 0): 0.9, (0, 1): 0.9}, abs=1e-5)


def test_nothing_above_the_threshold_still_gives_the_best_first_fact(decode_graphs):
    (result,) = decode_graphs([EvidenceGraph([(ROOT, 2), (2, 3)])], "forward", threshold=0.95)
    assert result.graph.edges == {(ROOT, 2)}


def test_backward_path_without_predecessor_hangs_from_the_question(decode_graphs):
    (result,) = decode_graphs([EvidenceGraph([(ROOT, 1), (1, 4)])], "backward", threshold=0.95)
    assert result.graph.edges == {(ROOT, 4)}


def test_exploring_leaves_the_graph_as_it_is_and_weighs_more(make_retriever):
    model = make_retriever("forward", threshold=0.8)
    sure, doubtful = EvidenceGraph([(ROOT, 0), (0, 1)]), EvidenceGraph([(ROOT, 0), (0, 1), (0, 2), (2, 3)])
    batch = Batch(
        Rows.from_lists([[2, 5, 3]] * 2),
        Rows.from_lists([[2, 6 + i, 3] for i in range(FACTS)]),
        torch.arange(FACTS).repeat(2, 1),
    )
    reading = model.encode_batch(batch.questions, batch.facts, batch.candidates)
    oracle = Oracle(model, [sure, doubtful], chance=0.7)
    narrow, wide = decode(oracle, reading), decode(oracle, reading, explore=2.2)
    assert [r.graph for r in wide] == [r.graph for r in narrow] == [EvidenceGraph([(ROOT, 0)])] * 2
    assert (2, 3) not in narrow[1].odds
    below = torch.tensor(0.7).logit().item() - torch.tensor(0.8).logit().item()
    assert wide[1].odds[2, 3] == pytest.approx(below, abs=1e-5)  # as weak as its weakest step
    assert wide[1].odds[ROOT, 0] == 0  # the best first step is taken whatever its odds
    assert wide[1].odds[ROOT, 1] < -2.2
    assert narrow[1].steps == {}
    assert sorted(wide[1].steps) == [(), (0,), (0, 1), (0, 2), (0, 2, 3)]
    chance, other = torch.tensor(0.7).logit().item(), -5.0
    assert wide[1].steps[0,].odds == pytest.approx({1: chance, 2: chance, 3: other, 4: other, 5: other})
    logits = torch.tensor([chance, chance, other, other, other])
    assert wide[1].steps[0,].nothing == pytest.approx((1 - logits.sigmoid()).log().sum().item(), abs=1e-5)


class Doubter(Oracle):
    """An oracle that errs: the same random error for a step at each reading."""

    def match(self, reading, paths):
        logits = super().match(reading, paths)
        last = [None if value == -2 else int(value) for value in paths.states[:, 0].tolist()]
        for row, (question, node) in enumerate(zip(paths.question.tolist(), last, strict=True)):
            noise = torch.Generator().manual_seed(100 * question + (-3 if node is None else node) + 5)
            logits[row] += torch.randn(logits.shape[1], generator=noise) * 1.5
        return logits


@pytest.mark.parametrize("depth", [24, 2])
@pytest.mark.parametrize("direction", ["forward", "backward"])
def test_explored_steps_give_the_graph_of_every_higher_threshold(make_retriever, direction, depth):
    rng = random.Random(1)
    goals = [random_graph(rng) for _ in range(40)]
    model = make_retriever(direction, threshold=0.3, max_depth=depth)
    batch = Batch(
        Rows.from_lists([[2, 5, 3]] * len(goals)),
        Rows.from_lists([[2, 6 + i, 3] for i in range(FACTS)]),
        torch.arange(FACTS).repeat(len(goals), 1),
    )
    reading = model.encode_batch(batch.questions, batch.facts, batch.candidates)
    oracle = Doubter(model, goals, chance=0.7)
    found = decode(oracle, reading, explore=2.2)
    graphs = set()
    for threshold in (0.3, 0.5, 0.6, 0.8):
        for result, expected in zip(found, decode(oracle, reading, threshold=threshold), strict=True):
            form = {"forward": direction == "forward", "max_depth": model.config.max_depth}
            assert graph_at(result.steps, threshold, **form) == expected.graph
            graphs.add(expected.graph)
    assert len(graphs) > (40 if depth > 2 else 20)


def test_few_doubtful_paths_are_followed_and_all_sure_ones(make_retriever, monkeypatch):
    monkeypatch.setattr("bgr.retrievers.graph_hop.decode.MAX_EXPLORED", 1)
    graph = EvidenceGraph([(ROOT, 0), (ROOT, 1), (0, 2), (0, 3)])
    batch = Batch(
        Rows.from_lists([[2, 5, 3]]), Rows.from_lists([[2, 6 + i, 3] for i in range(FACTS)]), torch.arange(FACTS)[None]
    )
    for threshold, followed in ((0.5, [(), (0,), (0, 2), (0, 3), (1,)]), (0.8, [(), (0,), (0, 2)])):
        model = make_retriever("forward", threshold=threshold)
        reading = model.encode_batch(batch.questions, batch.facts, batch.candidates)
        (found,) = decode(Oracle(model, [graph], chance=0.7), reading, explore=2.2)
        assert sorted(found.steps) == followed
        assert found.limits == ()


def test_backward_steps_may_lead_to_the_question(make_retriever):
    model = make_retriever("backward")
    batch = Batch(Rows.from_lists([[2, 5, 3]]), Rows.from_lists([[2, 6, 3]]), torch.zeros(1, 1, dtype=torch.long))
    oracle = Oracle(model, [EvidenceGraph([(ROOT, 0)])])
    (found,) = decode(oracle, model.encode_batch(batch.questions, batch.facts, batch.candidates), explore=1.0)
    assert {path: sorted(step.odds) for path, step in found.steps.items()} == {(): [0], (0,): [ROOT]}


def test_limits_are_recorded(decode_graphs):
    wide = EvidenceGraph([(ROOT, i) for i in range(5)])
    deep = EvidenceGraph([(i - 1, i) for i in range(5)])
    results = decode_graphs([wide, deep], "forward", max_paths=3, max_depth=2)
    assert results[0].limits == ("max_paths",)
    assert results[1].limits == ("max_depth",)
    assert results[1].graph.edges == {(ROOT, 0), (0, 1)}


def test_backward_a_path_as_long_as_allowed_reaches_the_question(decode_graphs):
    chain, longer = EvidenceGraph([(i - 1, i) for i in range(3)]), EvidenceGraph([(i - 1, i) for i in range(4)])
    whole, cut = decode_graphs([chain, longer], "backward", max_depth=3)
    assert (whole.graph, whole.limits) == (chain, ())
    assert (cut.graph, cut.limits) == (EvidenceGraph([]), ("max_depth",))


def test_acyclic_keeps_the_most_probable_edges():
    kept, dropped = acyclic({(0, 1): 0.9, (1, 2): 0.8, (2, 0): 0.7, (2, 3): 0.1})
    assert dropped == [(2, 0)]
    assert nx.is_directed_acyclic_graph(nx.DiGraph(kept))
    assert len(kept) == 3
