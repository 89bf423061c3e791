"""Scaled dot-product attention (Vaswani et al. 2017, arXiv:1706.03762, section 3.2)."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn


def attend(
    queries: Tensor,
    keys: Tensor,
    values: Tensor,
    mask: Tensor | None = None,
    *,
    scale: float | None = None,
    dropout: float = 0.0,
) -> Tensor:
    """Attention of each query over the values whose mask is true, or over all values without a mask.

    *Shape:* ``queries [n, …, s, d]``, ``keys``, ``values [n, …, t, d]``, ``mask`` broadcast to ``[n, …, s, t]`` →
    ``[n, …, s, d]``. `scale` is ``d^-½`` unless given.
    """
    if queries.device.type != "cpu":
        return F.scaled_dot_product_attention(queries, keys, values, mask, scale=scale, dropout_p=dropout)
    # for rows as short as ours, the fused CPU kernel takes two to four times as long as these operations
    with torch.autocast("cpu", enabled=False):
        scaled, keys = queries * (queries.shape[-1] ** -0.5 if scale is None else scale), keys.to(queries.dtype)
        # a softmax takes several times as long in 16 bits, and along rows shorter than a vector register:
        # with few keys, the softmax runs along the other dimension
        transposed = keys.shape[-2] < 16
        scores = (keys @ scaled.transpose(-1, -2)).transpose(-1, -2) if transposed else scaled @ keys.transpose(-1, -2)
        scores = scores.to(torch.promote_types(scores.dtype, torch.float32))
        if mask is not None:
            scores = scores.add_(torch.zeros_like(mask, dtype=scores.dtype).masked_fill_(~mask, float("-inf")))
        shares = scores.transpose(-1, -2).softmax(-2).transpose(-1, -2) if transposed else scores.softmax(-1)
        return F.dropout(shares.to(queries.dtype), dropout) @ values.to(queries.dtype)


class Attention(nn.Module):
    """Multi-head attention with its projections.

    Args:
        width: ``d``.
        heads: number of heads, a divisor of ``d``.
    """

    def __init__(self, *, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.query = nn.Linear(width, width)
        self.key_value = nn.Linear(width, 2 * width)
        self.out = nn.Linear(width, width)

    def forward(self, queries: Tensor, states: Tensor, mask: Tensor) -> Tensor:
        """*Shape:* ``queries [n, s, d]``, ``states [n, t, d]``, ``mask [n, t]`` (true at tokens) → ``[n, s, d]``."""
        key, value = self.key_value(states).chunk(2, dim=-1)
        # [n, t, d] -> [n, heads, t, d / heads]
        query, key, value = (
            part.unflatten(-1, (self.heads, -1)).transpose(1, 2) for part in (self.query(queries), key, value)
        )
        seen = attend(query, key, value, mask[:, None, None, :])
        return self.out(seen.transpose(1, 2).flatten(2))
