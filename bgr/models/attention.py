"""Multi-head attention over padded rows, with its projections apart so that each is computed as rarely as possible."""

from __future__ import annotations

import torch.nn.functional as F
from torch import Tensor, nn


class Attention(nn.Module):
    """Scaled dot-product attention (Vaswani et al. 2017, arXiv:1706.03762, section 3.2).

    `keys_values` does not depend on who asks, so a caller computes it once per sentence and hands it to every query.

    Args:
        width: ``d``.
        heads: divides ``d``.
    """

    def __init__(self, *, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.query = nn.Linear(width, width)
        self.key = nn.Linear(width, width)
        self.value = nn.Linear(width, width)
        self.out = nn.Linear(width, width)

    def keys_values(self, states: Tensor) -> tuple[Tensor, Tensor]:
        """*Shape:* ``[n, t, d]`` → two of ``[n, heads, t, d/heads]``."""
        return self._split(self.key(states)), self._split(self.value(states))

    def forward(self, queries: Tensor, keys: Tensor, values: Tensor, mask: Tensor) -> Tensor:
        """Let each query row look at one row of keys.

        *Shape:* ``queries [n, s, d]``, ``keys`` and ``values`` ``[n, heads, t, d/heads]``, ``mask [n, t]`` bool, true
        where there is a token → ``[n, s, d]``.
        """
        seen = F.scaled_dot_product_attention(self._split(self.query(queries)), keys, values, mask[:, None, None, :])
        return self.out(seen.transpose(1, 2).flatten(2))

    def _split(self, states: Tensor) -> Tensor:
        # [n, t, d] -> [n, heads, t, d / heads]
        return states.unflatten(-1, (self.heads, -1)).transpose(1, 2)
