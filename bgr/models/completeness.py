"""Whether the candidates of a question contain all of its evidence: nothing found is a result, too."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from bgr.models.token_match import Layout

LEAST = -20.0
"""Relevance logit that stands for a missing candidate."""


class Completeness(nn.Module):
    """One logit for each question, from its tokens in context, the rows of the candidates that seem relevant, and how
    relevant they are."""

    def __init__(self, *, width: int) -> None:
        super().__init__()
        self.out = nn.Sequential(nn.Linear(2 * width + 2, 64), nn.GELU(), nn.Linear(64, 1))

    def forward(self, question: Tensor, mask: Tensor, rows: Tensor, relevance: Tensor, layout: Layout) -> Tensor:
        """*Shape:* ``question [q, t, d]``, ``mask [q, t]``, ``rows [f, r, d]``, ``relevance [f]`` → ``[q]``."""
        count = len(question)
        asked = (question * mask[..., None]).sum(1) / mask.sum(1, keepdim=True)
        facts = layout.question[count:]
        weight = relevance.float().sigmoid()
        total = weight.new_zeros(count).index_add_(0, facts, weight)
        seen = asked.new_zeros(asked.shape, dtype=torch.float32)
        seen = seen.index_add_(0, facts, weight[:, None] * rows.float().mean(1)) / (total + 0.1)[:, None]
        best = weight.new_full((count,), LEAST).scatter_reduce(0, facts, relevance.float(), "amax")
        features = torch.cat([asked.float(), seen, best[:, None] / 4, total[:, None] / 4], 1)
        return self.out(features.to(asked.dtype)).squeeze(-1)
