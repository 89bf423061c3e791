"""Late interaction between a fact's tokens and a path's tokens: which of them have a counterpart on the other side?

The summary rows of `bgr.models.matcher` must learn from scratch what an encoder's token states already show: that the
same name stands in both sentences. Late interaction (ColBERT, arXiv:2004.12832, section 3.2) reads it off directly.
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from bgr.models.ragged import Ragged, take


class Tokens(NamedTuple):
    """Projected tokens of sentences: unit vectors ``[n, t, heads, s]`` and weights ``[n, t, k]`` that add up to 1 over
    the tokens; both 0 at padding."""

    vectors: Tensor
    weights: Tensor

    def select(self, rows: Tensor) -> Tokens:
        return Tokens(take(self.vectors, rows), take(self.weights, rows))


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

    def forward(self, rows: Ragged, of_facts: Ragged) -> Tensor:
        """*Shape:* ``q`` rows of states ``[total, d]``, each its question's tokens and then its candidates'; which of
        them are a fact's ``[total]`` → what to add to the states ``[total, d]``."""
        unit = F.normalize(self.project(rows.flat).unflatten(-1, (self.heads, -1)), dim=-1)
        unit, mask, is_fact = replace(rows, flat=unit).padded(), rows.mask(), of_facts.padded()
        asks = int((mask & ~is_fact).sum(1).max())
        asked = unit[:, :asks].masked_fill(is_fact[:, :asks, None, None], 0.0)
        # cosines [q, heads, t, t_q] of every token with the question's
        cosines = unit.transpose(1, 2) @ asked.permute(0, 2, 3, 1)
        in_question = largest(cosines, -1)
        in_facts = largest(cosines.masked_fill(~is_fact[:, None, :, None], 0.0), -2)
        in_facts = F.pad(in_facts, (0, unit.shape[1] - asks))
        found = torch.where(is_fact[:, None], in_question, in_facts)
        return self.mark(self.matched(found).transpose(1, 2)[mask])


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

    def of_facts(self, rows: Ragged) -> Tokens:
        """Once per fact. *Shape:* states ``[total, d]`` of ``f`` rows."""
        return self._tokens(rows, self.fact(rows.flat), self.fact_weight(rows.flat))

    def of_paths(self, rows: Ragged) -> Tokens:
        """Once per path. *Shape:* states ``[total, d]`` of ``p`` rows."""
        return self._tokens(rows, self.path(rows.flat), self.path_weight(rows.flat))

    def _tokens(self, rows: Ragged, vectors: Tensor, weights: Tensor) -> Tokens:
        unit = F.normalize(vectors.unflatten(-1, (self.heads, -1)), dim=-1)
        return Tokens(
            replace(rows, flat=unit).padded(),
            replace(rows, flat=weights).padded(float("-inf")).softmax(1),
        )

    def forward(self, facts: Tokens, paths: Tokens) -> Tensor:
        """*Shape:* ``facts [p, c, …]`` (each path's candidates), ``paths [p, …]`` → ``[p, c, 2 · heads · k]``."""
        p, c, t = facts.weights.shape[:3]
        # [p, heads, c * t, s] x [p, heads, s, t_p] -> cosines [p, heads, c, t, t_p]
        left = facts.vectors.flatten(1, 2).transpose(1, 2)
        cosines = (left @ paths.vectors.permute(0, 2, 3, 1)).view(p, self.heads, c, t, -1)
        # padding is the zero vector: its cosine is 0, which no real match stays below
        of_fact, of_path = (self.matched(largest(cosines, dim)) for dim in (-1, -2))
        # [p, heads, c, t], [p, c, t, k] -> [p, c, heads, k]
        return torch.cat(
            [
                torch.einsum("phct,pctk->pchk", of_fact, facts.weights).flatten(2),
                torch.einsum("phct,ptk->pchk", of_path, paths.weights).flatten(2),
            ],
            dim=-1,
        )


def largest(values: Tensor, dim: int) -> Tensor:
    """``values.amax(dim)``, at a few numbers each."""
    if values.requires_grad or values.device.type != "cpu":
        return values.max(dim).values
    # a CPU compares two long halves several times as fast as it walks along many short rows; gradients would cost more
    while (count := values.shape[dim]) > 1:
        half = (count + 1) // 2
        values = torch.maximum(values.narrow(dim, 0, half), values.narrow(dim, count - half, half))
    return values.squeeze(dim)
