"""The matcher: attention from each candidate fact to the path's state, then a feed-forward (paper, section 4.1).

The computation is factorized: everything that does not depend on the path is computed once per fact. A fact is reduced
to a few summary rows (`FactRows`). For a pair of path and fact, only the attention of these rows to the path's tokens
and the feed-forward remain.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from bgr.models.attention import attend
from bgr.models.ragged import take


class FactRows(nn.Module):
    """Self-attention over a fact's tokens with only `rows` queries, all derived from ``[CLS]``.

    Row ``i`` is ``LN(a_i + MHA(a_i, X))`` with ``a_i = x_cls + s_i`` and a learned vector ``s_i`` for each row.
    The keys and values of all tokens are not needed: ``q·(W_k x) = (W_kᵀ q)·x`` and ``Σ p (W_v x) = W_v Σ p x``, so
    both matrices are applied to the few rows instead of the tokens. With one row and ``s = 0`` it is the ``[CLS]`` row
    of an ordinary self-attention layer.
    """

    def __init__(self, *, width: int, heads: int, rows: int, dropout: float) -> None:
        super().__init__()
        self.heads = heads
        self.seeds = nn.Parameter(torch.randn(rows, width))
        self.query = nn.Linear(width, width)
        # a bias of the keys would add the same value to the scores of all tokens
        self.key = nn.Linear(width, width, bias=False)
        self.value = nn.Linear(width, width)
        self.out = nn.Linear(width, width)
        self.norm = nn.LayerNorm(width)
        self.dropout = nn.Dropout(dropout)

    def forward(self, states: Tensor, mask: Tensor) -> Tensor:
        """*Shape:* ``states [f, t, d]``, ``mask [f, t]`` → ``[f, r, d]``."""
        rows = states[:, :1] + self.seeds
        # W_k, W_v: [d, d] -> [heads, d / heads, d]
        key, value = (part.weight.unflatten(0, (self.heads, -1)) for part in (self.key, self.value))
        queries = self.query(rows).unflatten(-1, (self.heads, -1))
        # [f, r, heads, d / heads] -> [f, heads * r, d]: the queries of all heads in the space of the tokens
        queries = torch.einsum("frhe,hed->fhrd", queries, key).flatten(1, 2)
        tokens = states[:, None]  # one head, whose keys and values are the tokens
        seen = attend(queries[:, None], tokens, tokens, mask[:, None, None], scale=key.shape[1] ** -0.5)[:, 0]
        seen = torch.einsum("fhrd,hed->frhe", seen.unflatten(1, (self.heads, -1)), value).flatten(-2)
        return self.norm(rows + self.dropout(self.out(seen + self.value.bias.to(seen.dtype))))


class Prepared(NamedTuple):
    """Features of facts that do not depend on the path: ``queries``, ``gates [f, r, d]``, ``hidden [f, r, m]``."""

    queries: Tensor
    gates: Tensor
    hidden: Tensor


class Matcher(nn.Module):
    """One logit for each path and candidate: is this fact the next one?

    With ``x`` a row of a fact and ``y`` its attention over the path's tokens, the first hidden layer, of width
    ``m = d / 2``, is ``GELU(W_x x + W_y y + W_xy (W_g x ⊙ y))``. A second layer joins the rows and `features`
    additional features of the pair.
    """

    def __init__(self, *, width: int, heads: int, rows: int, features: int, dropout: float) -> None:
        super().__init__()
        self.heads = heads
        self.query = nn.Linear(width, width)
        self.key_value = nn.Linear(width, 2 * width)
        self.gate = nn.Linear(width, width)
        self.of_fact = nn.Linear(width, width // 2)
        self.of_path = nn.Linear(2 * width, width // 2, bias=False)
        self.dropout = nn.Dropout(dropout)
        joined = rows * (width // 2) + features
        self.out = nn.Sequential(nn.Linear(joined, width // 2), nn.GELU(), nn.Linear(width // 2, 1))

    def prepare(self, rows: Tensor) -> Prepared:
        """Compute the features of facts. *Shape:* ``rows [f, r, d]``."""
        return Prepared(self.query(rows), self.gate(rows), self.of_fact(rows))

    def forward(
        self, paths: Tensor, mask: Tensor, facts: Prepared, indices: Tensor, features: Sequence[Tensor] = ()
    ) -> Tensor:
        """*Shape:* ``paths [p, t, d]``, ``mask [p, t]``, ``indices [p, c]`` the candidates of each path as indices
        into ``facts``, ``features`` of each pair ``[p, c, …]`` → logits ``[p, c]``."""
        p, c = indices.shape
        keys, values = (self._split(part) for part in self.key_value(paths).chunk(2, dim=-1))
        # [f, r, d] -> [p, c * r, d]: the candidates of each path's question
        queries = self._split(take(facts.queries, indices).flatten(1, 2))
        seen = attend(queries, keys, values, mask[:, None, None, :]).transpose(1, 2).flatten(2)
        both = torch.cat([seen, take(facts.gates, indices).flatten(1, 2) * seen], dim=-1)
        hidden = take(facts.hidden, indices).flatten(1, 2) + self.of_path(both)
        # [p, c * r, m] -> [p, c, r * m]
        hidden = self.dropout(F.gelu(hidden)).reshape(p, c, -1)
        return self.out(torch.cat([hidden, *features], dim=-1)).squeeze(-1)

    def _split(self, states: Tensor) -> Tensor:
        # [n, t, d] -> [n, heads, t, d / heads]
        return states.unflatten(-1, (self.heads, -1)).transpose(1, 2)
