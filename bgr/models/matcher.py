"""Which facts are next? Attention from each fact to the path's state, then a feed-forward (paper, section 4.1).

Factorised: what does not depend on the path is computed once per fact. A fact keeps a few summary rows (`FactRows`),
and what is left for a pair of path and fact is those rows against the path's tokens, and the feed-forward.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from bgr.models.attention import attend
from bgr.models.ragged import take


class FactRows(nn.Module):
    """Self-attention over a fact's tokens, of which only `rows` rows are computed: ``[CLS]``, asked in several ways.

    Row ``i`` is ``LN(a_i + MHA(a_i, X))`` with ``a_i = x_cls + s_i`` and a learned vector ``s_i`` for each row.
    So few rows never need the keys and values of all tokens: ``q·(W_k x) = (W_kᵀ q)·x``, and
    ``Σ p (W_v x) = W_v Σ p x``, so both matrices meet the rows instead of the tokens.

    Args:
        width: ``d``.
        heads: attention heads.
        rows: ``r``; with 1 and ``s = 0`` it is the ``[CLS]`` row of an ordinary self-attention layer.
        dropout: probability.
    """

    def __init__(self, *, width: int, heads: int, rows: int, dropout: float) -> None:
        super().__init__()
        self.heads = heads
        self.seeds = nn.Parameter(torch.randn(rows, width))
        self.query = nn.Linear(width, width)
        # a key's bias would add the same to all tokens' scores
        self.key = nn.Linear(width, width, bias=False)
        self.value = nn.Linear(width, width)
        self.out = nn.Linear(width, width)
        self.norm = nn.LayerNorm(width)
        self.dropout = nn.Dropout(dropout)

    def forward(self, states: Tensor, mask: Tensor) -> Tensor:
        """*Shape:* ``states [f, t, d]``, ``mask [f, t]`` → ``[f, r, d]``."""
        asked = states[:, :1] + self.seeds
        # W_k, W_v: [d, d] -> [heads, d / heads, d]
        key, value = (part.weight.unflatten(0, (self.heads, -1)) for part in (self.key, self.value))
        queries = self.query(asked).unflatten(-1, (self.heads, -1))
        # [f, r, heads, d / heads] -> [f, heads * r, d], all heads' queries in the space of the tokens
        queries = torch.einsum("frhe,hed->fhrd", queries, key).flatten(1, 2)
        scale = key.shape[1] ** -0.5
        seen = attend(queries, states, states, mask[:, None, :], scale=scale)
        seen = torch.einsum("fhrd,hed->frhe", seen.unflatten(1, (self.heads, -1)), value).flatten(-2)
        return self.norm(asked + self.dropout(self.out(seen + self.value.bias)))


class Prepared(NamedTuple):
    """What the matcher needs of facts, whatever the path: ``queries``, ``gates [f, r, d]``, ``hidden [f, r, m]``."""

    queries: Tensor
    gates: Tensor
    hidden: Tensor


class Matcher(nn.Module):
    """One logit for each path and candidate: is this fact next?

    With ``x`` a fact's row and ``y`` what it sees of the path's tokens, the first hidden layer, ``m = d / 2`` wide, is
    ``GELU(W_x x + W_y y + W_xy (W_g x ⊙ y))``; a second one joins the rows.

    Args:
        width: ``d``.
        heads: attention heads.
        rows: ``r`` rows of a fact.
        features: further numbers that each pair brings along.
        dropout: probability.
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
        """Once per fact. *Shape:* ``rows [f, r, d]``."""
        return Prepared(self.query(rows), self.gate(rows), self.of_fact(rows))

    def forward(self, paths: Tensor, mask: Tensor, facts: Prepared, places: Tensor, features: Tensor) -> Tensor:
        """*Shape:* ``paths [p, t, d]``, ``mask [p, t]``, ``places [p, c]`` the facts (numbers into ``facts``) that each
        path may choose from, ``features [p, c, e]`` → logits ``[p, c]``."""
        p, c = places.shape
        keys, values = (self._split(part) for part in self.key_value(paths).chunk(2, dim=-1))
        # [f, r, d] -> [p, c * r, d]: every path is asked by its own question's candidates
        queries = self._split(take(facts.queries, places).flatten(1, 2))
        seen = attend(queries, keys, values, mask[:, None, None, :]).transpose(1, 2).flatten(2)
        both = torch.cat([seen, take(facts.gates, places).flatten(1, 2) * seen], dim=-1)
        hidden = take(facts.hidden, places).flatten(1, 2) + self.of_path(both)
        # [p, c * r, m] -> [p, c, r * m]
        hidden = self.dropout(F.gelu(hidden)).reshape(p, c, -1)
        return self.out(torch.cat([hidden, features], dim=-1)).squeeze(-1)

    def _split(self, states: Tensor) -> Tensor:
        # [n, t, d] -> [n, heads, t, d / heads]
        return states.unflatten(-1, (self.heads, -1)).transpose(1, 2)
