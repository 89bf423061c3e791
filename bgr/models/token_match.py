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


class TokenMatch(nn.Module):
    """For each pair of sentences, how well the tokens of one are matched by the other, both ways.

    Token ``i`` of one side is matched by ``m_i = 4 σ(a (max_j cos(u_i, v_j) − b)) − 2``: near 2 where the other side
    has the same word and near −2 where it has none; ``a`` and ``b`` are learned for each head. ``k`` learned weightings
    sum that over the sentence: one may look at names, another at the words of the relation.

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
        self.sharpness = nn.Parameter(torch.full((heads, 1, 1), 12.0))
        self.middle = nn.Parameter(torch.full((heads, 1, 1), 0.6))
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

    def _matched(self, cosines: Tensor) -> Tensor:
        # in −2 … 2, so that the difference weighs as much as the matcher's other inputs
        return 4 * (self.sharpness * (cosines.relu() - self.middle)).sigmoid() - 2

    def forward(self, facts: Tokens, paths: Tokens) -> Tensor:
        """*Shape:* ``facts [p, c, …]`` (each path's candidates), ``paths [p, …]`` → ``[p, c, 2 · heads · k]``."""
        p, c, t = facts.weights.shape[:3]
        # [p, heads, c * t, s] x [p, heads, s, t_p] -> cosines [p, heads, c, t, t_p]
        left = facts.vectors.flatten(1, 2).transpose(1, 2)
        cosines = (left @ paths.vectors.permute(0, 2, 3, 1)).view(p, self.heads, c, t, -1)
        # padding is the zero vector: its cosine is 0, which no real match stays below
        of_fact, of_path = self._matched(cosines.max(-1).values), self._matched(cosines.max(-2).values)
        # [p, heads, c, t], [p, c, t, k] -> [p, c, heads, k]
        return torch.cat(
            [
                torch.einsum("phct,pctk->pchk", of_fact, facts.weights).flatten(2),
                torch.einsum("phct,ptk->pchk", of_path, paths.weights).flatten(2),
            ],
            dim=-1,
        )
