"""Paths through the candidates, and the update of a path's state by the fact it reached (paper, section 4.1)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields

import torch
from torch import Tensor, nn

from bgr.models.attention import Attention


@dataclass(frozen=True)
class Paths:
    """All paths of one level, of all questions of the batch.

    Args:
        states: ``[p, t, d]``.
        question: ``[p]`` index of the question that each path belongs to.
        last: ``[p]`` index of the fact that each path has reached, −1 at its start.
        open: ``[p, 1 + c]`` bool, true for the columns to which the path may be extended.
    """

    states: Tensor
    question: Tensor
    last: Tensor
    open: Tensor

    @classmethod
    def joined(cls, levels: Sequence[Paths]) -> Paths:
        """Concatenate the paths of several levels."""
        return cls(*(torch.cat([getattr(level, f.name) for level in levels]) for f in fields(cls)))


class PathUpdate(nn.Module):
    """New path state from the old one and a fact: self-attention, attention to the fact, feed-forward, gate.

    A path's state is ``[t, d]``. It starts as the token states of the question, and every fact on the path updates it.
    ``H' = LN(H + g ⊙ u)`` with ``u`` the attended state and the gate ``g = σ(W_g [H; u])``.
    """

    def __init__(self, *, width: int, heads: int, dropout: float) -> None:
        super().__init__()
        self.own = Attention(width=width, heads=heads)
        self.fact = Attention(width=width, heads=heads)
        self.feed = nn.Sequential(nn.Linear(width, 2 * width), nn.GELU(), nn.Linear(2 * width, width))
        self.gate = nn.Linear(2 * width, width)
        self.norms = nn.ModuleList(nn.LayerNorm(width) for _ in range(4))
        self.dropout = nn.Dropout(dropout)

    def forward(self, paths: Tensor, mask: Tensor, facts: Tensor, fact_mask: Tensor) -> Tensor:
        """*Shape:* ``paths [p, t, d]``, ``mask [p, t]``, and of the fact that each path has reached
        ``facts [p, t_f, d]``, ``fact_mask [p, t_f]`` → ``[p, t, d]``."""
        state = self.norms[0](paths + self.dropout(self.own(paths, paths, mask)))
        state = self.norms[1](state + self.dropout(self.fact(state, facts, fact_mask)))
        state = self.norms[2](state + self.dropout(self.feed(state)))
        gate = self.gate(torch.cat([paths, state], dim=-1)).sigmoid()
        return self.norms[3](paths + gate * state)
