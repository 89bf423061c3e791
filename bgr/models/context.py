"""Context layers: joint encoding of a question and all its candidates.

The paper encodes every sentence alone and compares a path with one candidate at a time. Such a model cannot tell which
of two films with the named actor also has the named director, because a third sentence says so. A few thin layers of
self-attention over the tokens of the question and of all its candidates can.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from bgr.models.attention import Attention, Packing, attend_in_rows
from bgr.models.late_interaction import TokenMarks
from bgr.models.ragged import Ragged
from bgr.utils.devices import for_matrices


class ContextLayer(nn.Module):
    """One pre-norm transformer layer (arXiv:2002.04745) over the joined tokens."""

    def __init__(self, *, width: int, heads: int, dropout: float) -> None:
        super().__init__()
        self.attention = Attention(width=width, heads=heads)
        self.feed = nn.Sequential(nn.Linear(width, 2 * width), nn.GELU(), nn.Linear(2 * width, width))
        self.norms = nn.ModuleList(nn.LayerNorm(width) for _ in range(2))
        self.dropout = nn.Dropout(dropout)
        # queries and keys start as the same rotation: at first a token attends to similar tokens of other sentences
        nn.init.orthogonal_(self.attention.query.weight)
        with torch.no_grad():
            self.attention.key_value.weight[:width].copy_(self.attention.query.weight)

    def forward(self, states: Tensor, packing: Packing) -> Tensor:
        """*Shape:* ``[total, d]`` → ``[total, d]``, where each token attends to those of its row."""
        states = states + self.dropout(self._attend(self.norms[0](states), packing))
        return states + self.dropout(self.feed(self.norms[1](states)))

    def _attend(self, states: Tensor, packing: Packing) -> Tensor:
        part, states = self.attention, for_matrices(states)
        key, value = part.key_value(states).chunk(2, dim=-1)
        return part.out(attend_in_rows(part.query(states), key, value, packing, heads=part.heads))


class Context(nn.Module):
    """All context layers on ragged rows: each question is joined with its candidates, and the result is split."""

    def __init__(self, *, width: int, heads: int, layers: int, dropout: float) -> None:
        super().__init__()
        self.kind = nn.Embedding(2, width)
        self.marks = TokenMarks(width=width)
        self.norm = nn.LayerNorm(width)
        self.layers = nn.ModuleList(ContextLayer(width=width, heads=heads, dropout=dropout) for _ in range(layers))
        nn.init.normal_(self.kind.weight, std=0.02)

    def forward(self, questions: Ragged, facts: Ragged, counts: Tensor) -> tuple[Ragged, Ragged]:
        """*Shape:* ``questions`` of ``q`` rows; ``facts`` of ``Σ counts`` rows, grouped by question; ``counts [q]`` →
        the same rows with new states."""
        count, device = len(questions), counts.device
        rows = Ragged(torch.cat([questions.flat, facts.flat]), torch.cat([questions.lengths, facts.lengths]))
        # row numbers in the order: question 0, its candidates, question 1, its candidates, …
        numbers = torch.arange(count, device=device)
        owner = torch.cat([numbers, numbers.repeat_interleave(counts)])
        order = torch.argsort(owner, stable=True)
        joined = rows.select(order)
        is_fact = (order >= count).repeat_interleave(joined.lengths)
        lengths = torch.zeros_like(counts).index_add_(0, owner, rows.lengths)
        states = joined.flat + self.kind(is_fact.long())
        states = states + self.marks(Ragged(states, lengths), Ragged(is_fact, lengths))
        packing = Packing.of(lengths)
        for layer in self.layers:
            states = layer(states, packing)
        parted = Ragged(self.norm(states), joined.lengths).select(torch.argsort(order))
        split = int(questions.lengths.sum())
        return Ragged(parted.flat[:split], questions.lengths), Ragged(parted.flat[split:], facts.lengths)
