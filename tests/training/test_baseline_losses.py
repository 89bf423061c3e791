"""Each baseline's loss on a batch equals the sum of a plain loop over questions, paths and steps."""

import pytest
import torch
import torch.nn.functional as F

from bgr.graph.evidence_graph import ROOT
from bgr.models.batching import Sentences, make_batch
from bgr.retrievers.baselines.baseline_config import BaselineConfig
from bgr.retrievers.baselines.beam import PathTable
from bgr.retrievers.baselines.trained import MODELS
from training.baseline.losses import baseline_loss, gold_chains
from training.data_module import TrainingBatch
from training.retriever.loss import next_nodes


@pytest.fixture
def batch(tokenizer, baseline_examples):
    examples = baseline_examples
    questions = Sentences((e.question for e in examples), tokenizer, max_tokens=64)
    facts = Sentences((f for e in examples for f in e.facts), tokenizer, max_tokens=64)
    return TrainingBatch(make_batch(questions, facts, [(e.question, e.facts) for e in examples]), examples)


@pytest.fixture
def make(encoder_config):
    def model(kind):
        torch.manual_seed(0)
        config = BaselineConfig(encoder=encoder_config, kind=kind, frozen_layers=1, width=16, rows=2)
        return MODELS[kind](config).eval()

    return model


def paths_of(graph, path=()):
    after = next_nodes(graph, path[-1] if path else None, "forward")
    yield path, after
    for fact in after:
        yield from paths_of(graph, (*path, fact))


def table(question, path):
    return PathTable(torch.tensor([question]), torch.tensor([path], dtype=torch.long).view(1, len(path)))


def mean(values):
    values = list(values)
    return sum(values) / len(values)


def against(score, negatives):
    """−log softmax of one score among itself and the negatives."""
    return float(-torch.stack([score, *negatives]).log_softmax(0)[0])


@torch.no_grad()
def slow_dpr(model, batch):
    scores, table = model.scores(batch.batch), batch.batch.candidates
    rows = []
    for question, example in enumerate(batch.examples):
        gold = {int(table[question, fact]) for fact in example.graph.nodes}
        negatives = [scores[question, fact] for fact in range(scores.shape[1]) if fact not in gold]
        rows.append(mean(against(scores[question, fact], negatives) for fact in sorted(gold)))
    return mean(rows)


@torch.no_grad()
def slow_mdr(model, batch):
    reading, candidates = model.encode_batch(batch.batch), batch.batch.candidates
    rows = []
    for question, example in enumerate(batch.examples):
        losses = []
        for path, after in paths_of(example.graph):
            scores = model.scores(reading, table(question, path))[0]
            right = [0] if not after else [1 + int(candidates[question, fact]) for fact in after]
            closed = {1 + int(candidates[question, fact]) for fact in path} | ({0} if not path else set())
            negatives = [scores[n] for n in range(len(scores)) if n not in right and n not in closed]
            losses.append(mean(against(scores[n], negatives) for n in right))
        rows.append(mean(losses))
    return mean(rows)


@torch.no_grad()
def slow_grr(model, batch):
    reading, rows = model.encode_batch(batch.batch), []
    for question, example in enumerate(batch.examples):
        losses = []
        for path, after in paths_of(example.graph):
            logits = model.logits(reading, table(question, path))[0]
            loss = 0.0
            for column, logit in enumerate(logits):
                if logit > -torch.inf:
                    right = column - 1 in after if column else not after
                    loss -= float(F.logsigmoid(logit if right else -logit))
            losses.append(loss)
        rows.append(mean(losses))
    return mean(rows)


@torch.no_grad()
def slow_ssg(model, batch):
    reading, rows = model.encode_batch(batch.batch), []
    stop = batch.batch.candidates.shape[1] + 1
    for question, example in enumerate(batch.examples):
        pointers = []
        for chain in gold_chains(example.graph):
            pointers += [0] * bool(pointers) + [fact + 1 for fact in chain]
        losses = []
        for step, right in enumerate([*pointers, stop]):
            written = torch.full((len(batch.examples), step), -1)
            written[question] = torch.tensor(pointers[:step], dtype=torch.long)
            losses.append(-float(model.logits(reading, written)[question, -1].log_softmax(0)[right]))
        rows.append(mean(losses))
    return mean(rows)


@pytest.mark.parametrize(("kind", "slow"), [("dpr", slow_dpr), ("grr", slow_grr), ("mdr", slow_mdr), ("ssg", slow_ssg)])
def test_loss(kind, slow, make, batch):
    model = make(kind)
    loss = baseline_loss(model, batch)
    assert float(loss.detach()) == pytest.approx(slow(model, batch), abs=1e-4)
    loss.backward()
    dead = [name for name, p in model.named_parameters() if p.requires_grad and p.grad is None]
    assert dead == []
    assert all(torch.isfinite(p.grad).all() for p in model.parameters() if p.grad is not None)
    assert ROOT not in batch.examples[0].graph.nodes
