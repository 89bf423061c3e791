"""From any number of candidates to the few that the graph model reads.

A relevance stage that compares token ids and word embeddings alone, before any transformer layer: its cost is linear in
the number of candidates, 60 ms for 1,000. Evidence of a later hop shares no word with the question, but a name with a
fact that does; so the scores are computed in rounds, and from the second one on a candidate is also compared with the
best ones so far.

Which words are names differs from question to question, and no embedding tells it: what few of the candidates have
tells most. So each weight of a token counts twice, as it is and times the token's rarity among them.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from bgr.models.ragged import Rows

WAYS = 2
"""Ways in which a token is matched: by the same token, and together with a neighbor by the same two tokens."""


class Words(NamedTuple):
    """Padded token ids of sentences ``[…, t]``, without the special tokens, whose id is −1; and the learned weights of
    their tokens ``[…, t, k]``, 0 at padding."""

    ids: Tensor
    weights: Tensor

    def select(self, rows: Tensor) -> Words:
        return Words(self.ids[rows], self.weights[rows])

    def with_rarity(self, rarity: Tensor) -> Words:
        """Each weighting, and after all of them each times the rarity ``[…, t]`` of the tokens."""
        return Words(self.ids, torch.cat([self.weights, self.weights * rarity[..., None]], -1))


class Pruner(nn.Module):
    """Scores of all candidates of each question.

    Every token has learned weights, a function of its word embedding, and these times its rarity. A feature is the
    share of a sentence's weight that is matched by another sentence. Scores are computed in float32 even if `autocast`
    is on: they are cheap, and a search gives the same texts in every precision.

    Args:
        embedding: width of the word embeddings.
        weightings: number of learned weights, ``k / 2``.
        size: width of the mean word vectors that are compared too, for words with a similar meaning.
        rounds: number of rounds.
        leaders: number of candidates, the best ones so far, that all others are compared with.
    """

    def __init__(
        self, *, embedding: int, weightings: int = 4, size: int = 64, rounds: int = 3, leaders: int = 16
    ) -> None:
        super().__init__()
        self.rounds, self.leaders = rounds, leaders
        self.weight = nn.Linear(embedding, weightings)
        self.question_weight = nn.Linear(embedding, weightings)
        self.mean_weight = nn.Linear(embedding, 2)
        self.vector = nn.Linear(embedding, size, bias=False)
        nn.init.orthogonal_(self.vector.weight)
        direct = 4 * WAYS * weightings + 2
        self.first = _scorer(direct)
        self.later = _scorer(direct + 4 * WAYS * weightings + 1)

    def forward(self, embeddings: Tensor, questions: Rows, facts: Rows, candidates: Tensor) -> Tensor:
        """*Shape:* ``embeddings [v, w]`` of all words; rows of ``q`` questions and of the distinct facts;
        ``candidates [q, c]`` as indices into the facts, padded with −1 → logits ``[rounds, q, c]``, −inf at padding."""
        with torch.autocast(embeddings.device.type, enabled=False):
            return self._scores(embeddings, questions, facts, candidates)

    def _scores(self, embeddings: Tensor, questions: Rows, facts: Rows, candidates: Tensor) -> Tensor:
        asked, vectors = self._words(embeddings, questions, self.question_weight)
        words, fact_vectors = self._words(embeddings, facts, self.weight)
        there, index = candidates >= 0, candidates.clamp(min=0)
        own = words.select(index)  # [q, c, t]
        own = Words(own.ids.masked_fill(~there[..., None], -1), own.weights)
        of_facts, of_questions = rarity(own.ids, asked.ids, there.sum(1))
        own, asked = own.with_rarity(of_facts), asked.with_rarity(of_questions)
        ways = [_shared(own.ids, asked.ids), _shared_pairs(own.ids, asked.ids)]
        features = [(fact_vectors[index] * vectors[:, None]).sum(-1) * 3]
        for of_fact, of_question in ways:
            features += [_share(of_fact, own.weights), _share(of_question, asked.weights[:, None])]
        direct = torch.cat(features, -1)
        scores = [self.first(direct).squeeze(-1).masked_fill(~there, float("-inf"))]
        in_question = ways[0][0]
        for _ in range(1, self.rounds):
            best = scores[-1].detach()
            lead, leader = best.topk(min(self.leaders, best.shape[1]), dim=1)
            by_leaders = self._by_leaders(own, leader, lead.sigmoid(), in_question)
            before = best.masked_fill(~there, 0.0)[..., None] / 4
            later = self.later(torch.cat([direct, *by_leaders, before], -1)).squeeze(-1)
            scores.append(later.masked_fill(~there, float("-inf")))
        return torch.stack(scores)

    def _words(self, embeddings: Tensor, rows: Rows, weight: nn.Linear) -> tuple[Words, Tensor]:
        """Words and mean vectors ``[s, 2, size]`` of each sentence."""
        used, number = torch.unique(rows.ids, return_inverse=True)
        with torch.no_grad():
            known = F.layer_norm(embeddings[used].float(), embeddings.shape[1:])
        weights, means, vectors = F.softplus(weight(known)), self.mean_weight(known).exp(), self.vector(known)
        mask = rows.mask()
        inner = mask & torch.roll(mask, -1, 1)  # without the last token
        inner[:, 0], inner[:, -1] = False, False
        place = torch.zeros_like(mask, dtype=torch.long)
        place[mask] = number
        share = means[place] * inner[..., None]  # [s, t, 2]
        vector = F.normalize((share.transpose(1, 2) @ vectors[place]), dim=-1)
        ids = used[place].masked_fill(~inner, -1)
        return Words(ids, weights[place] * inner[..., None]), vector

    def _by_leaders(self, own: Words, leader: Tensor, trust: Tensor, known: Tensor) -> list[Tensor]:
        """For each way and weighting the largest share of a candidate that one of the leaders matches, once weighted by
        the leader's probability, once not. Words of the question do not count: they led to the leaders."""
        q, c, _ = own.ids.shape
        rows = torch.arange(q, device=leader.device)[:, None]
        # where a question has fewer candidates than leaders, padding is none; its index is that of another fact
        others = own.ids[rows, leader].masked_fill((trust == 0)[..., None], -1)  # [q, m, t]
        itself = torch.zeros(q, c, leader.shape[1], dtype=torch.bool, device=leader.device)
        itself.scatter_(1, leader[:, None], True)
        features = []
        for way in _matched_by_each(own.ids, others):  # [q, c, t, m]
            found = way & ~known[..., None] & ~itself[:, :, None]
            # [q, c, k, t] x [q, c, t, m]
            share = own.weights.transpose(-1, -2) @ found.to(own.weights.dtype)
            share = share / own.weights.sum(-2).clamp(min=1e-3)[..., None]
            features += [(share * trust[:, None, None]).amax(-1), share.amax(-1)]
        return features


def rarity(ids: Tensor, others: Tensor, candidates: Tensor) -> tuple[Tensor, Tensor]:
    """``log((1 + n) / f) / log(1 + n)`` for a token that ``f`` of ``n`` candidates have: 1 if one has it, 0 if none.

    *Shape:* tokens of candidates ``ids [q, c, t]`` and of questions ``others [q, u]``, −1 for none; the numbers of
    `candidates` ``[q]`` → the same shapes."""
    q, c, t = ids.shape
    row = torch.arange(q, device=ids.device)[:, None]
    number = torch.unique(torch.cat([ids.flatten(1), others], 1), return_inverse=True)[1]
    ours, theirs = number[:, : c * t], number[:, c * t :]
    again = (ids[..., :, None] == ids[..., None, :]).tril(-1).any(-1)
    first = ((ids >= 0) & ~again).flatten(1)
    having = torch.zeros(q, int(number.max()) + 1, device=ids.device)
    having.scatter_add_(1, ours, first.to(having.dtype))
    most = candidates.to(having.dtype).add(1).log()[:, None]
    value = torch.where(having > 0, (most - having.clamp(min=1).log()) / most.clamp(min=1e-3), 0.0)
    return (
        value[row, ours].unflatten(1, (c, t)).masked_fill(ids < 0, 0.0),
        value[row, theirs].masked_fill(others < 0, 0.0),
    )


def _scorer(features: int) -> nn.Sequential:
    return nn.Sequential(nn.Linear(features, 64), nn.GELU(), nn.Linear(64, 1))


def _share(matched: Tensor, weights: Tensor) -> Tensor:
    """The share of a sentence's weight at its matched tokens. *Shape:* ``[…, t]``, ``[…, t, k]`` → ``[…, k]``."""
    found = (matched.to(weights.dtype)[..., None] * weights).sum(-2)
    return found / weights.sum(-2).clamp(min=1e-3)


def _pairs(ids: Tensor) -> Tensor:
    """A number for each token with the next one, −1 if one of them is missing. *Shape:* ``[…, t]`` → ``[…, t]``."""
    following = F.pad(ids[..., 1:], (0, 1), value=-1)
    return torch.where((ids >= 0) & (following >= 0), (ids << 32) + following, -1)


def _shared(keys: Tensor, others: Tensor) -> tuple[Tensor, Tensor]:
    """Which tokens of candidates occur in their question, and which tokens of the question in each candidate; −1 occurs
    nowhere. *Shape:* ``[q, c, t]``, ``[q, u]`` → bool ``[q, c, t]``, ``[q, c, u]``."""
    q, c, t = keys.shape
    row = torch.arange(q, device=keys.device)[:, None]
    number = torch.unique(torch.cat([keys.flatten(1), others], 1), return_inverse=True)[1]
    ours, theirs = number[:, : c * t], number[:, c * t :]
    # the place of each token in the question; any of its places, if it occurs several times
    place = torch.full((q, int(number.max()) + 1), -1, device=keys.device)
    place[row, theirs] = torch.where(others >= 0, torch.arange(others.shape[1], device=keys.device), -1)
    found = place[row, ours].unflatten(1, (c, t))
    # one column more for the tokens that are not found
    seen = torch.zeros(q, c, others.shape[1] + 1, dtype=torch.bool, device=keys.device)
    seen.scatter_(2, found % (others.shape[1] + 1), True)
    of_question = seen.gather(2, place[row, theirs].clamp(min=0)[:, None].expand(-1, c, -1))
    return (found >= 0) & (keys >= 0), of_question & (others >= 0)[:, None]


def _shared_pairs(ids: Tensor, others: Tensor) -> tuple[Tensor, Tensor]:
    """The same for tokens together with a neighbor: a pair that is shared matches both of its tokens."""
    return tuple(one | F.pad(one[..., :-1], (1, 0)) for one in _shared(_pairs(ids), _pairs(others)))  # type: ignore[return-value]


def _matched_by_each(ids: Tensor, others: Tensor) -> list[Tensor]:
    """Which tokens of candidates occur in each of ``m`` other sentences, in each way. *Shape:* ``[q, c, t]``, ``[q, m,
    u]`` → bool ``[q, c, t, m]``."""
    same = _contained(ids, others)
    pair = _contained(_pairs(ids), _pairs(others))
    return [same, pair | F.pad(pair[:, :, :-1], (0, 0, 1, 0))]


def _contained(keys: Tensor, others: Tensor) -> Tensor:
    q, c, t = keys.shape
    m, u = others.shape[1:]
    # each question's keys as small numbers, so that a table tells which of the sentences has them
    row = torch.arange(q, device=keys.device)[:, None]
    flat = torch.cat([keys.flatten(1), others.flatten(1)], 1)
    number = torch.unique(flat, return_inverse=True)[1]
    ours, theirs = number[:, : c * t], number[:, c * t :]
    table = torch.zeros(q, int(number.max()) + 1, m, dtype=torch.bool, device=keys.device)
    sentence = torch.arange(m, device=keys.device).repeat_interleave(u)
    table[row, theirs, sentence] = True
    found = table[row, ours].unflatten(1, (c, t))
    return found & (keys >= 0)[..., None]


def best_columns(scores: Tensor, most: int) -> Tensor:
    """The candidates with the `most` best scores of each question, in their order.

    *Shape:* ``scores [q, c]``, −inf where there is none → ``[q, most]`` indices of candidates, padded with −1.
    """
    found, columns = scores.topk(min(most, scores.shape[1]), dim=1)
    columns = columns.masked_fill(found == float("-inf"), scores.shape[1]).sort(dim=1).values
    return columns.masked_fill(columns == scores.shape[1], -1)
