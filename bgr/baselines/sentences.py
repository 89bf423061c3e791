"""From a frozen encoder's token states to states and vectors that a baseline's training can shape."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from bgr.models.context import ContextLayer
from bgr.models.matcher import FactRows
from bgr.models.packed import Packing
from bgr.models.ragged import Ragged


class TokenLayers(nn.Module):
    """Transformer layers over rows of tokens, each row alone.

    Args:
        width: ``d``.
        heads: attention heads.
        layers: how many; with 0 the rows stay as they are.
        dropout: probability.
    """

    def __init__(self, *, width: int, heads: int, layers: int, dropout: float) -> None:
        super().__init__()
        self.layers = nn.ModuleList(ContextLayer(width=width, heads=heads, dropout=dropout) for _ in range(layers))

    def forward(self, rows: Ragged) -> Ragged:
        """*Shape:* ``[total, d]`` → ``[total, d]``."""
        if not self.layers:
            return rows
        # sorted by length, rows make the fewest groups
        order = torch.argsort(rows.lengths, stable=True)
        part = rows.select(order)
        packing, states = Packing.of(part.lengths), part.flat
        for layer in self.layers:
            states = layer(states, packing)
        return Ragged(states, part.lengths).select(torch.argsort(order))


class SentenceVectors(nn.Module):
    """One vector for each sentence: the mean of its token states, to which a few summary rows add what training finds.

    ``v = LN(mean + W [r_1; …; r_k])`` with ``W = 0`` at the start, where sentences are as near to each other as the
    encoder's mean states are.

    Args:
        width: ``d``.
        heads: attention heads.
        rows: summary rows (`bgr.models.matcher.FactRows`).
        dropout: probability.
    """

    def __init__(self, *, width: int, heads: int, rows: int, dropout: float) -> None:
        super().__init__()
        self.rows = FactRows(width=width, heads=heads, rows=rows, dropout=dropout)
        self.join = nn.Linear(rows * width, width)
        self.norm = nn.LayerNorm(width)
        nn.init.zeros_(self.join.weight)
        nn.init.zeros_(self.join.bias)

    def forward(self, sentences: Ragged) -> Tensor:
        """*Shape:* ``[total, d]`` of ``s`` rows → ``[s, d]``."""
        states, mask = sentences.padded(), sentences.mask()
        mean = states.sum(1) / sentences.lengths[:, None]
        return self.norm(mean + self.join(self.rows(states, mask).flatten(1)))


def projection(encoder_width: int, width: int) -> nn.Module:
    """From the encoder's width to a baseline's. A random rotation nearly keeps the angles between token states."""
    project = nn.Linear(encoder_width, width)
    nn.init.orthogonal_(project.weight)
    return nn.Sequential(project, nn.LayerNorm(width))
