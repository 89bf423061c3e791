import itertools
import math
import random

import pytest
import torch
import torch.nn.functional as F

from bgr.models.pruner import Pruner, best_columns
from bgr.models.ragged import Rows


def share(found, weights):
    """The share of a sentence's weight at the tokens that are found, for each weighting."""
    total = sum(weights)
    matched = sum((weight for weight, one in zip(weights, found, strict=True) if one), torch.zeros_like(weights[0]))
    return matched / total.clamp(min=1e-3)


def in_ways(ids, others):
    """Whether each token occurs among others, and whether it does together with a neighbor."""
    pairs = {pair for other in others for pair in itertools.pairwise(other)}
    single = {token for other in others for token in other}
    with_neighbor = [
        any(pair in pairs for pair in [tuple(ids[i - 1 : i + 1])] * (i > 0) + [tuple(ids[i : i + 2])])
        for i in range(len(ids))
    ]
    return [[token in single for token in ids], with_neighbor]


class PlainPruner:
    """One question and one candidate at a time."""

    def __init__(self, part, embeddings):
        self.part, self.embeddings = part, F.layer_norm(embeddings, embeddings.shape[1:])

    def words(self, ids, weight):
        known = self.embeddings[ids]
        shares = self.part.mean_weight(known).exp()
        vectors = F.normalize(shares.T @ self.part.vector(known), dim=-1)
        return list(F.softplus(weight(known))), vectors

    def with_rarity(self, ids, weights, facts):
        having = [sum(token in fact for fact in facts) for token in ids]
        rare = [math.log((1 + len(facts)) / n) / math.log(1 + len(facts)) if n else 0.0 for n in having]
        return [torch.cat([one, one * value]) for one, value in zip(weights, rare, strict=True)]

    def scores(self, question, facts):
        asked, vectors = self.words(question, self.part.question_weight)
        told = [self.words(fact, self.part.weight) for fact in facts]
        asked = self.with_rarity(question, asked, facts)
        told = [(self.with_rarity(fact, one, facts), own) for fact, (one, own) in zip(facts, told, strict=True)]
        direct = []
        for fact, (weights, own) in zip(facts, told, strict=True):
            features = [(own * vectors).sum(-1) * 3]
            for ours, theirs in zip(in_ways(fact, [question]), in_ways(question, [fact]), strict=True):
                features += [share(ours, weights), share(theirs, asked)]
            direct.append(torch.cat(features))
        rounds = [torch.cat([self.part.first(one) for one in direct])]
        for _ in range(1, self.part.rounds):
            best = rounds[-1].topk(min(self.part.leaders, len(facts)))
            later = []
            for number, (fact, (weights, _)) in enumerate(zip(facts, told, strict=True)):
                known, table = set(question), [[], []]
                for leader, score in zip(best.indices.tolist(), best.values, strict=True):
                    for way, found in enumerate(in_ways(fact, [facts[leader]])):
                        new = [one and token not in known for one, token in zip(found, fact, strict=True)]
                        got = share(new, weights) * (leader != number)
                        table[way].append((got * score.sigmoid(), got))
                features = [torch.stack(part).amax(0) for way in table for part in zip(*way, strict=True)]
                later.append(
                    self.part.later(torch.cat([direct[number], *features, rounds[-1][number : number + 1] / 4]))
                )
            rounds.append(torch.cat(later))
        return torch.stack(rounds)


@pytest.mark.parametrize("leaders", [2, 16])
def test_scores_equal_the_plain_ones(leaders):
    torch.manual_seed(0)
    draw = random.Random(1)
    part, embeddings = Pruner(embedding=12, weightings=3, size=5, leaders=leaders), torch.randn(30, 12)
    with torch.no_grad():
        for scorer in part.first, part.later:
            scorer[2].weight.mul_(20)  # so that the leaders differ in their probability
    texts = [[draw.randrange(5, 16) for _ in range(draw.randint(1, 6))] for _ in range(9)]
    rows = Rows.from_lists([[2, *text, 3] for text in texts])
    candidates = torch.tensor([[2, 3, 4, 5, 6], [7, 3, 8, -1, -1]])
    numbers = torch.arange(9)
    found = part(embeddings, rows.select(numbers[:2]), rows, candidates)
    assert found.shape == (3, 2, 5)
    plain = PlainPruner(part, embeddings)
    for question, row in enumerate(candidates.tolist()):
        facts = [texts[number] for number in row if number >= 0]
        expected = plain.scores(texts[question], facts)
        torch.testing.assert_close(found[:, question, : len(facts)], expected, atol=1e-4, rtol=1e-4)
        assert (found[:, question, len(facts) :] == float("-inf")).all()


def test_padding_leads_nowhere():
    """A question with fewer candidates than leaders, beside one with more: padding is no copy of the first fact."""
    torch.manual_seed(0)
    part, embeddings = Pruner(embedding=12, leaders=4), torch.randn(30, 12)
    rows = Rows.from_lists([[2, 5, 6, 3], [2, 7, 8, 3], [2, 5, 6, 9, 3], [2, 9, 10, 3], [2, 11, 6, 3]])
    asked = Rows.from_lists([[2, 7, 3], [2, 11, 3]])
    together = part(embeddings, asked, rows, torch.tensor([[2, 1, -1, -1, -1], [0, 1, 2, 3, 4]]))
    alone = part(embeddings, asked.select(torch.tensor([0])), rows, torch.tensor([[2, 1]]))
    torch.testing.assert_close(together[:, :1, :2], alone)


def test_a_fact_of_the_second_hop_is_found_by_the_name_it_shares_with_the_first():
    """The question shares a word with the first fact only, which shares another one with the second."""
    torch.manual_seed(0)
    part, embeddings = Pruner(embedding=16), torch.randn(200, 16)
    optimizer = torch.optim.Adam(part.parameters(), 1e-2)
    draw = random.Random(0)

    def question():
        words = draw.sample(range(5, 200), 40)
        facts = [[words[0], words[1]], [words[1], words[2]], *([a, b] for a, b in zip(words[3:20], words[20:37]))]  # noqa: B905
        order = draw.sample(range(len(facts)), len(facts))
        rows = Rows.from_lists([[2, *facts[n], 3] for n in order])
        return Rows.from_lists([[2, words[0], words[39], 3]]), rows, [order.index(0), order.index(1)]

    for _ in range(60):
        asked, facts, gold = question()
        scores = part(embeddings, asked, facts, torch.arange(len(facts))[None])
        target = torch.zeros(len(facts))
        target[gold] = 1.0
        loss = F.binary_cross_entropy_with_logits(scores[:, 0], target.expand(3, -1))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    kept, kept_at_once = 0, 0
    for _ in range(20):
        asked, facts, gold = question()
        scores = part(embeddings, asked, facts, torch.arange(len(facts))[None])
        kept += set(best_columns(scores[-1], 2)[0].tolist()) == set(gold)
        kept_at_once += set(best_columns(scores[0], 2)[0].tolist()) == set(gold)
    assert kept >= 18
    assert kept_at_once <= 5


def test_the_best_columns_in_order():
    scores = torch.tensor([[0.5, 3.0, 1.0, 2.0], [1.0, 0.0, float("-inf"), float("-inf")]])
    assert best_columns(scores, 3).tolist() == [[1, 2, 3], [0, 1, -1]]
    assert best_columns(scores, 9).tolist() == [[0, 1, 2, 3], [0, 1, -1, -1]]


def test_which_of_equal_candidates_is_kept_does_not_depend_on_the_batch():
    scores = torch.zeros(1, 12)
    scores[0, 3] = 1.0
    for width in (12, 13, 49, 1024):
        padded = torch.full((1, width), float("-inf"))
        padded[:, :12] = scores
        assert best_columns(padded, 5).tolist() == [[0, 1, 2, 3, 4]]
