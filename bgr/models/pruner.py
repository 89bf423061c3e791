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
        tokens, pairs = _numbered(own.ids, asked.ids), _numbered(_pairs(own.ids), _pairs(asked.ids))
        of_facts, of_questions = rarity(tokens, there.sum(1))
        own, asked = own.with_rarity(of_facts), asked.with_rarity(of_questions)
        ways = [_shared(tokens), [_with_next(one, -1) for one in _shared(pairs)]]
        features = [(fact_vectors[index] * vectors[:, None]).sum(-1) * 3]
        for of_fact, of_question in ways:
            features += [_share(of_fact, own.weights), _share(of_question, asked.weights[:, None])]
        direct = torch.cat(features, -1)
        scores = [self.first(direct).squeeze(-1).masked_fill(~there, float("-inf"))]
        in_question = ways[0][0]
        for _ in range(1, self.rounds):
            best = scores[-1].detach()
            lead, leader = best.topk(min(self.leaders, best.shape[1]), dim=1)
            by_leaders = self._by_leaders(own.weights, (tokens, pairs), leader, lead.sigmoid(), in_question)
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

    def _by_leaders(
        self, weights: Tensor, keys: tuple[Keys, Keys], leader: Tensor, trust: Tensor, known: Tensor
    ) -> list[Tensor]:
        """For each way and weighting the largest share of a candidate that one of the leaders matches, once weighted by
        the leader's probability, once not. Words of the question do not count: they led to the leaders."""
        row = torch.arange(len(leader), device=leader.device)[:, None]
        place = torch.arange(leader.shape[1], device=leader.device)
        # where a question has fewer candidates than leaders, padding is none; its index is that of another fact
        tokens, pairs = (_in_each(own, leader, trust > 0) for own in keys)  # [q, c, t, m]
        new = (weights * ~known[..., None]).transpose(-1, -2)
        total = weights.sum(-2).clamp(min=1e-3)[..., None]
        features = []
        for found in (tokens, _with_next(pairs, -2)):
            share = new @ found.to(weights.dtype) / total  # [q, c, k, t] x [q, c, t, m]
            share[row, leader, :, place] = 0.0  # what leads does not lead to itself
            features += [(share * trust[:, None, None]).amax(-1), share.amax(-1)]
        return features


class Keys(NamedTuple):
    """Tokens, or pairs of them, as small numbers, so that tables tell what has them: of candidates ``own [q, c, t]``
    and of questions ``asked [q, u]``, below `size`; 0 for none."""

    own: Tensor
    asked: Tensor
    size: int


def _numbered(ids: Tensor, others: Tensor) -> Keys:
    """*Shape:* ``[q, c, t]``, ``[q, u]``, negative for none."""
    c, t = ids.shape[1:]
    flat = torch.cat([ids.flatten(1), others], 1)
    number = (torch.unique(flat, return_inverse=True)[1] + 1).masked_fill(flat < 0, 0)
    return Keys(number[:, : c * t].unflatten(1, (c, t)), number[:, c * t :], int(number.max()) + 1)


def rarity(tokens: Keys, candidates: Tensor) -> tuple[Tensor, Tensor]:
    """``log((1 + n) / f) / log(1 + n)`` for a token that ``f`` of ``n`` candidates have: 1 if one has it, 0 if none.

    *Shape:* the numbers of `candidates` ``[q]`` → of `tokens` ``[q, c, t]`` and ``[q, u]``."""
    own, asked, size = tokens
    row = torch.arange(len(own), device=own.device)[:, None]
    in_order = own.sort(-1).values
    first = (in_order > 0) & (in_order != F.pad(in_order[..., :-1], (1, 0)))  # each token of a candidate once
    having = torch.zeros(len(own), size, device=own.device)
    having.scatter_add_(1, in_order.flatten(1), first.flatten(1).to(having.dtype))
    most = candidates.to(having.dtype).add(1).log()[:, None]
    value = torch.where(having > 0, (most - having.clamp(min=1).log()) / most.clamp(min=1e-3), 0.0)
    return value[row, own.flatten(1)].view(own.shape), value[row, asked]


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


def _shared(keys: Keys) -> tuple[Tensor, Tensor]:
    """Which tokens of candidates occur in their question, and which tokens of the question in each candidate. *Shape:*
    bool ``[q, c, t]``, ``[q, c, u]``."""
    own, asked, size = keys
    (q, c, _), u = own.shape, asked.shape[1]
    row = torch.arange(q, device=own.device)[:, None]
    # the place of each token in the question; any of its places, if it occurs several times
    place = torch.full((q, size), -1, device=own.device)
    place[row, asked] = torch.arange(u, device=own.device).expand(q, -1)
    place[:, 0] = -1
    found = place[row, own.flatten(1)].view(own.shape)
    # one column more for the tokens that are not found
    seen = torch.zeros(q, c, u + 1, dtype=torch.bool, device=own.device)
    seen.scatter_(2, found % (u + 1), True)
    of_question = seen.gather(2, place[row, asked].clamp(min=0)[:, None].expand(-1, c, -1))
    return found >= 0, of_question & (asked > 0)[:, None]


def _in_each(keys: Keys, leader: Tensor, there: Tensor) -> Tensor:
    """Which tokens of candidates occur in each of the leaders. *Shape:* columns of candidates ``[q, m]``, bool ``[q,
    m]`` → bool ``[q, c, t, m]``."""
    own, _, size = keys
    (q, _, t), m = own.shape, leader.shape[1]
    row = torch.arange(q, device=own.device)[:, None]
    theirs = own[row, leader] * there[..., None]
    table = torch.zeros(q, size, m, dtype=torch.bool, device=own.device)
    table[row, theirs.flatten(1), torch.arange(m, device=own.device).repeat_interleave(t)] = True
    table[:, 0] = False
    return table[row, own.flatten(1)].view(*own.shape, m)


def _with_next(pairs: Tensor, axis: int) -> Tensor:
    """What is matched by pairs, each at the place of its first token: both of its tokens are."""
    return pairs | torch.cat(
        [torch.zeros_like(pairs.narrow(axis, 0, 1)), pairs.narrow(axis, 0, pairs.shape[axis] - 1)], axis
    )


def best_columns(scores: Tensor, most: int) -> Tensor:
    """The candidates with the `most` best scores of each question, in their order; of equal ones the first, whatever
    else is in the batch.

    *Shape:* ``scores [q, c]``, −inf where there is none → ``[q, most]`` indices of candidates, padded with −1.
    """
    columns = scores.argsort(dim=1, descending=True, stable=True)[:, :most]
    found = scores.gather(1, columns)
    columns = columns.masked_fill(found == float("-inf"), scores.shape[1]).sort(dim=1).values
    return columns.masked_fill(columns == scores.shape[1], -1)
