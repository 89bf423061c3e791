"""Late interaction between the tokens of a fact and those of a question (ColBERT, arXiv:2004.12832, section 3.2).

The summary rows of `bgr.models.matcher` must learn from scratch that the same name occurs in both sentences. Late
interaction reads it directly from the similarity of the encoder's token states.
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from bgr.models.ragged import Ragged, take


class Tokens(NamedTuple):
    """Projected tokens of sentences: unit vectors ``[n, t, heads, s]`` and weights ``[n, t, k]`` that sum to 1 over the
    tokens. Both are 0 at padding."""

    vectors: Tensor
    weights: Tensor

    def select(self, rows: Tensor) -> Tokens:
        return Tokens(take(self.vectors, rows), take(self.weights, rows))


class TokenSimilarity(nn.Module):
    """``4 σ(a (max(0, cos) − b)) − 2``: near 2 for a token that also occurs on the other side, else near −2.

    The range is that of the features it is combined with, so that it has an effect from the start. ``a`` and ``b`` are
    learned for each of `heads` projections.
    """

    def __init__(self, heads: int) -> None:
        super().__init__()
        self.sharpness = nn.Parameter(torch.full((heads,), 12.0))
        self.middle = nn.Parameter(torch.full((heads,), 0.6))

    def forward(self, cosines: Tensor) -> Tensor:
        """*Shape:* ``[n, heads, …]`` → the same."""
        a, b = (part.view(-1, *[1] * (cosines.dim() - 2)) for part in (self.sharpness, self.middle))
        return 4 * (a * (cosines.relu() - b)).sigmoid() - 2


class LateInteraction(nn.Module):
    """Scores for pairs of sentences: how well the tokens of each are matched by the other.

    Each of `heads` projections of width `size` (``s``) has its own cosine. The match of token ``i`` is ``m_i``,
    `TokenSimilarity` of its best cosine with the tokens of the other side. ``k`` learned `weightings` sum the matches
    over the sentence: one may look at names, another at the words of the relation.
    """

    def __init__(self, *, width: int, heads: int = 2, size: int = 64, weightings: int = 8) -> None:
        super().__init__()
        self.heads = heads
        self.features = 2 * heads * weightings
        self.fact = nn.Linear(width, heads * size, bias=False)
        self.path = nn.Linear(width, heads * size, bias=False)
        self.fact_weight = nn.Linear(width, weightings)
        self.path_weight = nn.Linear(width, weightings)
        self.matched = TokenSimilarity(heads)
        # both sides start with the same random rotation, which preserves the cosines of the token states
        nn.init.orthogonal_(self.fact.weight)
        with torch.no_grad():
            self.path.weight.copy_(self.fact.weight)

    def of_facts(self, rows: Ragged) -> Tokens:
        """Project the tokens of facts, ``[total, d]`` of ``f`` rows."""
        return self._tokens(rows, self.fact(rows.flat), self.fact_weight(rows.flat))

    def of_paths(self, rows: Ragged) -> Tokens:
        """Project the tokens of paths, ``[total, d]`` of ``p`` rows."""
        return self._tokens(rows, self.path(rows.flat), self.path_weight(rows.flat))

    def _tokens(self, rows: Ragged, vectors: Tensor, weights: Tensor) -> Tokens:
        unit = F.normalize(vectors.unflatten(-1, (self.heads, -1)), dim=-1)
        return Tokens(replace(rows, flat=unit).padded(), replace(rows, flat=weights).padded(float("-inf")).softmax(1))

    def forward(self, facts: Tokens, paths: Tokens) -> Tensor:
        """*Shape:* ``facts [p, c, …]`` (each path's candidates), ``paths [p, …]`` → ``[p, c, 2 · heads · k]``."""
        p, c, t = facts.weights.shape[:3]
        # [p, heads, c * t, s] x [p, heads, s, t_p] -> cosines [p, heads, c, t, t_p]
        left = facts.vectors.flatten(1, 2).transpose(1, 2)
        cosines = (left @ paths.vectors.permute(0, 2, 3, 1)).view(p, self.heads, c, t, -1)
        # padding is the zero vector: its cosine is 0, and `TokenSimilarity` clips cosines at 0
        of_fact, of_path = (self.matched(cosines.amax(dim)) for dim in (-1, -2))
        # [p, heads, c, t], [p, c, t, k] -> [p, c, heads, k]
        fact_scores = torch.einsum("phct,pctk->pchk", of_fact, facts.weights)
        path_scores = torch.einsum("phct,ptk->pchk", of_path, paths.weights)
        return torch.cat([fact_scores.flatten(2), path_scores.flatten(2)], dim=-1)
