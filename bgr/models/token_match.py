"""Late interaction between a fact's tokens and a path's tokens: which of them have a counterpart on the other side?

The summary rows of `bgr.models.matcher` must learn from scratch what an encoder's token states already show: that the
same name stands in both sentences. Late interaction (ColBERT, arXiv:2004.12832, section 3.2) reads it off directly.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor, nn


class Tokens(NamedTuple):
    """Projected tokens of sentences: unit vectors ``[n, t, heads, s]`` and weights ``[n, t, k]`` that add up to 1 over
    the tokens; both 0 at padding."""

    vectors: Tensor
    weights: Tensor

    def select(self, rows: Tensor) -> Tokens:
        return Tokens(self.vectors[rows], self.weights[rows])


class Matched(nn.Module):
    """``4 σ(a (max(0, cos) − b)) − 2``: near 2 for a token that the other side has too, near −2 for one it has not.

    The range is that of the numbers it meets, so that the difference counts at once. ``a`` and ``b`` are learned for
    each of `heads` projections.
    """

    def __init__(self, heads: int) -> None:
        super().__init__()
        self.sharpness = nn.Parameter(torch.full((heads,), 12.0))
        self.middle = nn.Parameter(torch.full((heads,), 0.6))

    def forward(self, cosines: Tensor) -> Tensor:
        """*Shape:* ``[n, heads, …]``, the same back."""
        a, b = (part.view(-1, *[1] * (cosines.dim() - 2)) for part in (self.sharpness, self.middle))
        return 4 * (a * (cosines.relu() - b)).sigmoid() - 2


class TokenMarks(nn.Module):
    """Tells every token of a question and of its candidates whether the other side has its like.

    Added to the token states before `bgr.models.context` reads them together: a layer of attention can then ask at once
    for *the other facts about this film that the question names*.

    Args:
        width: ``d``.
        heads: projections, each with its own cosine.
        size: width of a projection.
    """

    def __init__(self, *, width: int, heads: int = 2, size: int = 64) -> None:
        super().__init__()
        self.heads = heads
        self.project = nn.Linear(width, heads * size, bias=False)
        self.matched = Matched(heads)
        self.mark = nn.Linear(heads, width, bias=False)
        nn.init.orthogonal_(self.project.weight)
        nn.init.normal_(self.mark.weight, std=0.5)

    def forward(self, states: Tensor, mask: Tensor, is_fact: Tensor) -> Tensor:
        """*Shape:* ``states [q, t, d]``, each row its question's tokens and then its candidates'; ``mask``, ``is_fact``
        ``[q, t]`` → what to add to the states ``[q, t, d]``."""
        unit = F.normalize(self.project(states).unflatten(-1, (self.heads, -1)), dim=-1).masked_fill(
            ~mask[..., None, None], 0.0
        )
        asks = int((mask & ~is_fact).sum(1).max())
        asked = unit[:, :asks].masked_fill(is_fact[:, :asks, None, None], 0.0)
        # cosines [q, heads, t, t_q] of every token with the question's
        cosines = unit.transpose(1, 2) @ asked.permute(0, 2, 3, 1)
        of_facts = cosines.max(-1).values
        of_question = cosines.masked_fill(~is_fact[:, None, :, None], 0.0).max(-2).values
        of_question = F.pad(of_question, (0, states.shape[1] - asks))
        found = torch.where(is_fact[:, None], of_facts, of_question)
        return self.mark(self.matched(found).transpose(1, 2))


class TokenMatch(nn.Module):
    """For each pair of sentences, how well the tokens of one are matched by the other, both ways.

    Token ``i`` of one side is matched by ``m_i``, `Matched` of its best cosine with the other side's tokens; ``k``
    learned weightings sum that over the sentence: one may look at names, another at the words of the relation.

    Args:
        width: ``d``.
        heads: projections, each with its own cosine.
        size: ``s``, width of a projection.
        weightings: ``k``.
    """

    def __init__(self, *, width: int, heads: int = 2, size: int = 64, weightings: int = 8) -> None:
        super().__init__()
        self.heads = heads
        self.features = 2 * heads * weightings
        self.fact = nn.Linear(width, heads * size, bias=False)
        self.path = nn.Linear(width, heads * size, bias=False)
        self.fact_weight = nn.Linear(width, weightings)
        self.path_weight = nn.Linear(width, weightings)
        self.matched = Matched(heads)
        # a random rotation keeps angles, and both sides share it: at the start a cosine is that of the token states
        nn.init.orthogonal_(self.fact.weight)
        with torch.no_grad():
            self.path.weight.copy_(self.fact.weight)

    def of_facts(self, states: Tensor, mask: Tensor) -> Tokens:
        """Once per fact. *Shape:* ``[f, t, d]``, ``[f, t]``."""
        return self._tokens(self.fact(states), self.fact_weight(states), mask)

    def of_paths(self, states: Tensor, mask: Tensor) -> Tokens:
        """Once per path. *Shape:* ``[p, t, d]``, ``[p, t]``."""
        return self._tokens(self.path(states), self.path_weight(states), mask)

    def _tokens(self, vectors: Tensor, weights: Tensor, mask: Tensor) -> Tokens:
        vectors = F.normalize(vectors.unflatten(-1, (self.heads, -1)), dim=-1)
        return Tokens(
            vectors.masked_fill(~mask[..., None, None], 0.0),
            weights.masked_fill(~mask[..., None], float("-inf")).softmax(1),
        )

    def forward(self, facts: Tokens, paths: Tokens) -> Tensor:
        """*Shape:* ``facts [p, c, …]`` (each path's candidates), ``paths [p, …]`` → ``[p, c, 2 · heads · k]``."""
        p, c, t = facts.weights.shape[:3]
        # [p, heads, c * t, s] x [p, heads, s, t_p] -> cosines [p, heads, c, t, t_p]
        left = facts.vectors.flatten(1, 2).transpose(1, 2)
        cosines = (left @ paths.vectors.permute(0, 2, 3, 1)).view(p, self.heads, c, t, -1)
        # padding is the zero vector: its cosine is 0, which no real match stays below
        of_fact, of_path = self.matched(cosines.max(-1).values), self.matched(cosines.max(-2).values)
        # [p, heads, c, t], [p, c, t, k] -> [p, c, heads, k]
        return torch.cat(
            [
                torch.einsum("phct,pctk->pchk", of_fact, facts.weights).flatten(2),
                torch.einsum("phct,ptk->pchk", of_path, paths.weights).flatten(2),
            ],
            dim=-1,
        )
