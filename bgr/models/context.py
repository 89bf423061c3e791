"""Context layers: joint encoding of a question and all its candidates.

The paper encodes every sentence alone and compares a path with one candidate at a time. Such a model cannot tell which
of two films with the named actor also has the named director, because a third sentence says so. A few thin layers of
self-attention over the tokens of the question and the summary rows of its candidates can. Attention is biased by the
features of each pair of sentences (`bgr.models.token_match.Links`), so that a fact sees at once which others share its
names. The cost grows with the square of the number of candidates, but with 3 rows for each, not with its tokens.

From the context it is also estimated whether the candidates contain all of the evidence (`Completeness`): nothing found
is a result, too.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from bgr.models.attention import Attention, attend
from bgr.models.token_match import Layout

LEAST = -20.0
"""Relevance logit that stands for a missing candidate."""


class ContextLayer(nn.Module):
    """One pre-norm transformer layer (arXiv:2002.04745) whose attention has a bias for each pair of sentences."""

    def __init__(self, *, width: int, heads: int, links: int, dropout: float) -> None:
        super().__init__()
        self.attention = Attention(width=width, heads=heads)
        self.bias = nn.Linear(links, heads, bias=False) if links else None
        self.feed = nn.Sequential(nn.Linear(width, 2 * width), nn.GELU(), nn.Linear(2 * width, width))
        self.norms = nn.ModuleList(nn.LayerNorm(width) for _ in range(2))
        self.dropout = nn.Dropout(dropout)
        if self.bias is not None:
            nn.init.normal_(self.bias.weight, std=0.3)

    def forward(self, states: Tensor, mask: Tensor, links: Tensor | None, rows: int) -> Tensor:
        """*Shape:* ``states [q, m, d]`` of the question's tokens, then the first row of every fact, then the second one
        …; ``mask [q, m]``, ``links [q, n, n, e]`` → ``[q, m, d]``."""
        states = states + self.dropout(self._attend(self.norms[0](states), self._scores(mask, links, rows)))
        return states + self.dropout(self.feed(self.norms[1](states)))

    def _scores(self, mask: Tensor, links: Tensor | None, rows: int) -> Tensor:
        """The terms added to the attention scores: −inf at padding, and the bias of each pair of sentences.

        *Shape:* as in `forward` → ``[q, heads, m, m]``, without links ``[q, 1, 1, m]``."""
        if self.bias is None or links is None:
            return torch.zeros_like(mask, dtype=torch.float32).masked_fill(~mask, float("-inf"))[:, None, None]
        bias = self.bias(links).permute(0, 3, 1, 2).contiguous()  # [q, heads, n, n]
        tokens = mask.shape[1] - rows * (bias.shape[-1] - 1)
        # whole runs of facts are copied: several times as fast as to select each column by its index
        bias = torch.cat([bias[..., :1].expand(-1, -1, -1, tokens), *[bias[..., 1:]] * rows], 3)
        bias = bias.masked_fill(~mask[:, None, None], float("-inf"))
        return torch.cat([bias[:, :, :1].expand(-1, -1, tokens, -1), *[bias[:, :, 1:]] * rows], 2)

    def _attend(self, states: Tensor, scores: Tensor) -> Tensor:
        part = self.attention
        both = part.query(states), *part.key_value(states).chunk(2, dim=-1)
        # [q, m, d] -> [q, heads, m, d / heads]
        query, key, value = (one.unflatten(-1, (part.heads, -1)).transpose(1, 2) for one in both)
        return part.out(attend(query, key, value, scores).transpose(1, 2).flatten(2))


class Context(nn.Module):
    """All context layers over the tokens of a question and the rows of its candidates."""

    def __init__(self, *, width: int, heads: int, layers: int, links: int, dropout: float) -> None:
        super().__init__()
        self.layers = nn.ModuleList(
            ContextLayer(width=width, heads=heads, links=links, dropout=dropout) for _ in range(layers)
        )
        self.norm = nn.LayerNorm(width)

    def forward(
        self, question: Tensor, mask: Tensor, rows: Tensor, links: Tensor | None, layout: Layout
    ) -> tuple[Tensor, Tensor]:
        """*Shape:* ``question [q, t, d]``, ``mask [q, t]``, ``rows [f, r, d]``, ``links [q, n, n, e]`` → the first and
        the third with new states."""
        count, tokens = mask.shape
        r, width = rows.shape[1], layout.shape[1]
        facts = slice(count, None)  # of the layout's sentences
        where = layout.question[facts] * (width - 1) + layout.column[facts] - 1
        table = rows.new_zeros(count * (width - 1), *rows.shape[1:]).index_copy(0, where, rows)
        table = table.unflatten(0, (count, -1)).transpose(1, 2).flatten(1, 2)  # [q, r · (n - 1), d]
        there = torch.zeros(count * (width - 1), dtype=torch.bool, device=mask.device).index_fill(0, where, True)
        states = torch.cat([question, table], 1)
        whole = torch.cat([mask, there.unflatten(0, (count, -1)).repeat(1, r)], 1)
        for layer in self.layers:
            states = layer(states, whole, links, r)
        states = self.norm(states)
        rows = states[:, tokens:].unflatten(1, (r, -1)).transpose(1, 2).flatten(0, 1)
        return states[:, :tokens], rows[where]


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
