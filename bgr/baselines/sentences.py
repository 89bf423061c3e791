"""From a frozen encoder's token states to states and vectors that a baseline's training can shape."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from bgr.models.context import ContextLayer
from bgr.models.matcher import FactRows
from bgr.models.packed import Packing, attend_in_rows
from bgr.models.ragged import Ragged


class ShortRowLayer(ContextLayer):
    """The same layer for rows of a few dozen tokens, many of one length.

    On a CPU their attention is computed in 32 bits by plain products: 16-bit kernels are made anew for each shape, of
    which there are many, and a training step takes twice as long.
    """

    def _look(self, states: Tensor, packing: Packing) -> Tensor:
        part = self.attention
        key, value = part.key_value(states).chunk(2, dim=-1)
        return part.out(attend_in_short_rows(part.query(states), key, value, packing, heads=part.heads))


def attend_in_short_rows(query: Tensor, key: Tensor, value: Tensor, packing: Packing, *, heads: int) -> Tensor:
    """`bgr.models.packed.attend_in_rows` for short rows. *Shape:* all ``[total, d]``."""
    if packing.padding is not None:
        return attend_in_rows(query, key, value, packing, heads=heads)
    # [total, d] -> [total, heads, d / heads]
    parts = [part.float().unflatten(-1, (heads, -1)) for part in (query, key, value)]
    sizes = [count * length for count, length in packing.groups]
    seen = []
    with torch.autocast(query.device.type, enabled=False):
        for (_, length), *group in zip(packing.groups, *(part.split(sizes) for part in parts), strict=True):
            # [n * t, heads, d / heads] -> [n, heads, t, d / heads]
            q, k, v = (part.unflatten(0, (-1, length)).transpose(1, 2) for part in group)
            rows = (q * q.shape[-1] ** -0.5 @ k.transpose(-1, -2)).softmax(-1) @ v
            seen.append(rows.transpose(1, 2).flatten(0, 1).flatten(1))
    return torch.cat(seen).to(query.dtype)


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
        self.layers = nn.ModuleList(ShortRowLayer(width=width, heads=heads, dropout=dropout) for _ in range(layers))

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
