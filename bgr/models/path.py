"""The update of a path's state by the fact it has just reached (paper, section 4.1)."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from bgr.models.attention import Attention


class PathUpdate(nn.Module):
    """New path state from the old one and a fact: self-attention, attention to the fact, feed-forward, gate.

    A path's state is ``[t, d]``: it starts as the question's token states; every fact on the path is written into it.
    ``H' = LN(H + g ⊙ W u)`` with ``u`` the attended state and the gate ``g = σ(W_g [H; u])``.

    Args:
        width: ``d``.
        heads: attention heads.
        dropout: probability.
    """

    def __init__(self, *, width: int, heads: int, dropout: float) -> None:
        super().__init__()
        self.own = Attention(width=width, heads=heads)
        self.fact = Attention(width=width, heads=heads)
        self.feed = nn.Sequential(nn.Linear(width, 2 * width), nn.GELU(), nn.Linear(2 * width, width))
        self.gate = nn.Linear(2 * width, width)
        self.norms = nn.ModuleList(nn.LayerNorm(width) for _ in range(4))
        self.dropout = nn.Dropout(dropout)

    def facts(self, states: Tensor) -> tuple[Tensor, Tensor]:
        """Keys and values of facts, which no path changes. *Shape:* ``[f, t, d]`` → as `Attention.keys_values`."""
        return self.fact.keys_values(states)

    def forward(self, paths: Tensor, mask: Tensor, keys: Tensor, values: Tensor, fact_mask: Tensor) -> Tensor:
        """*Shape:* ``paths [p, t, d]``, ``mask [p, t]``; ``keys``, ``values [p, heads, t_f, d/heads]`` and
        ``fact_mask [p, t_f]`` of the fact that each path has reached → ``[p, t, d]``."""
        state = self.norms[0](paths + self.dropout(self.own(paths, *self.own.keys_values(paths), mask)))
        state = self.norms[1](state + self.dropout(self.fact(state, keys, values, fact_mask)))
        state = self.norms[2](state + self.dropout(self.feed(state)))
        gate = self.gate(torch.cat([paths, state], dim=-1)).sigmoid()
        return self.norms[3](paths + gate * state)
