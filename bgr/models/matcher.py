"""Which facts are next? Attention from each fact to the path's state, then a feed-forward (paper, section 4.1).

Factorised: what does not depend on the path is computed once per fact. A fact keeps a few summary rows (`FactRows`),
and what is left for a pair of path and fact is those rows against the path's tokens, and the feed-forward.
"""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from bgr.models.attention import Attention


class FactRows(nn.Module):
    """Self-attention over a fact's tokens, of which only `rows` rows are computed: ``[CLS]``, asked in several ways.

    Row ``i`` is ``LN(x_cls + s_i + MHA(x_cls + s_i, X))`` with a learned vector ``s_i`` for each row.

    Args:
        width: ``d``.
        heads: attention heads.
        rows: ``r``; with 1 and ``s = 0`` it is the ``[CLS]`` row of an ordinary self-attention layer.
        dropout: probability.
    """

    def __init__(self, *, width: int, heads: int, rows: int, dropout: float) -> None:
        super().__init__()
        self.seeds = nn.Parameter(torch.randn(rows, width))
        self.attention = Attention(width=width, heads=heads)
        self.norm = nn.LayerNorm(width)
        self.dropout = nn.Dropout(dropout)

    def forward(self, states: Tensor, mask: Tensor) -> Tensor:
        """*Shape:* ``states [f, t, d]``, ``mask [f, t]`` → ``[f, r, d]``."""
        asked = states[:, :1] + self.seeds
        seen = self.attention(asked, *self.attention.keys_values(states), mask)
        return self.norm(asked + self.dropout(seen))


class Matcher(nn.Module):
    """One logit for each path and candidate: is this fact next?

    With ``x`` a fact's row and ``y`` what it sees of the path's tokens, the hidden layer is
    ``GELU(W_x x + W_y y + W_xy (x ⊙ y))``; ``W_x x`` and the attention's queries are computed once per fact.

    Args:
        width: ``d``.
        heads: attention heads.
        rows: ``r`` rows of a fact.
        dropout: probability.
    """

    def __init__(self, *, width: int, heads: int, rows: int, dropout: float) -> None:
        super().__init__()
        self.attention = Attention(width=width, heads=heads)
        self.of_fact = nn.Linear(width, width)
        self.of_path = nn.Linear(width, width, bias=False)
        self.of_both = nn.Linear(width, width, bias=False)
        self.dropout = nn.Dropout(dropout)
        self.out = nn.Sequential(nn.Linear(rows * width, width), nn.GELU(), nn.Linear(width, 1))

    def forward(self, paths: Tensor, mask: Tensor, rows: Tensor, places: Tensor) -> Tensor:
        """*Shape:* ``paths [p, t, d]``, ``mask [p, t]``, ``rows [f, r, d]`` of all facts, ``places [p, c]`` the facts
        (numbers into ``rows``) that each path may choose from → logits ``[p, c]``."""
        p, c = places.shape
        r = rows.shape[1]
        keys, values = self.attention.keys_values(paths)
        # [f, r, d] -> [p, c * r, d]: every path asks with its own question's candidates
        asked = rows[places].flatten(1, 2)
        seen = self.attention(asked, keys, values, mask)
        hidden = self.of_fact(rows)[places].flatten(1, 2) + self.of_path(seen) + self.of_both(asked * seen)
        # [p, c * r, d] -> [p, c, r * d]
        hidden = self.dropout(F.gelu(hidden)).view(p, c, r * hidden.shape[-1])
        return self.out(hidden).squeeze(-1)
