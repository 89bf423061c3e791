"""Attention (Vaswani et al. 2017, arXiv:1706.03762, section 3.2), and transformer layers on packed rows.

Packed rows have unequal lengths and are concatenated without padding. On a CPU they take 0.36 to 0.55 times as long as
rows padded to the longest (docs/speed.md). All token-wise operations run once over the tokens of all rows. Only
attention works by rows, and rows of equal length are a view of the flat states. On a GPU, where many small kernels cost
more than some padding, attention alone is padded.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from transformers.models.bert.modeling_bert import BertLayer

from bgr.models.ragged import Ragged
from bgr.utils.devices import for_matrices

LANES = 16
"""How many keys the fused kernel of a CPU takes the exponentials of at once. Those beyond a multiple of it are taken
one by one: 15 keys take twice as long as 16."""


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
    ``[n, …, s, d]``. A `mask` of floats is added to the scores. `scale` is ``d^-½`` unless given.
    """
    dtype = torch.float32 if _slow_to_train(queries) else queries.dtype
    query, key, value = (part.to(dtype) for part in (queries, keys, values))
    if mask is not None and mask.is_floating_point():
        mask = mask.to(dtype)
    # autocast would convert them again
    with torch.autocast(queries.device.type, enabled=False):
        seen = F.scaled_dot_product_attention(query, key, value, mask, scale=scale, dropout_p=dropout)
    return seen.to(queries.dtype)


def _slow_to_train(queries: Tensor) -> bool:
    """Whether the fused kernel's backward pass takes up to ten times as long in 16 bits, as on a CPU."""
    return queries.device.type == "cpu" and queries.requires_grad and torch.is_grad_enabled()


class Attention(nn.Module):
    """Multi-head attention with its projections."""

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


@dataclass(frozen=True)
class Padding:
    """Index of each token in the padded rows ``[total]``, and a mask ``[s, 1, 1, t]`` that is true at tokens."""

    indices: Tensor
    mask: Tensor


@dataclass(frozen=True)
class Packing:
    """Layout of rows in a flat tensor. `groups` gives the number of rows and their length for each run of adjacent rows
    of equal length, `within` ``[total]`` the position of each token in its row; `padding` is for attention on padded
    rows, ``None`` for attention group by group."""

    groups: tuple[tuple[int, int], ...]
    within: Tensor
    padding: Padding | None

    @classmethod
    def of(cls, lengths: Tensor) -> Packing:
        """*Shape:* ``lengths [s]``; sorted lengths give the fewest groups."""
        sizes, counts = torch.unique_consecutive(lengths, return_counts=True)
        groups = tuple(zip(counts.tolist(), sizes.tolist(), strict=True))
        starts = lengths.cumsum(0) - lengths
        within = torch.arange(int(lengths.sum()), device=lengths.device) - starts.repeat_interleave(lengths)
        if not pads(lengths.device):
            return cls(groups, within, None)
        longest, rows = max(length for _, length in groups), torch.arange(len(lengths), device=lengths.device)
        mask = torch.arange(longest, device=lengths.device) < lengths[:, None]
        indices = rows.repeat_interleave(lengths) * longest + within
        return cls(groups, within, Padding(indices, mask[:, None, None]))


def pads(device: torch.device) -> bool:
    """Return true if attention, and it alone, is computed on padded rows, as on a GPU."""
    return device.type != "cpu"


def attend_in_rows(
    query: Tensor, key: Tensor, value: Tensor, packing: Packing, *, heads: int, dropout: float = 0.0
) -> Tensor:
    """Attention of every token over the tokens of its row. *Shape:* all ``[total, d]``."""
    # [total, d] -> [total, heads, d / heads]
    parts = [part.unflatten(-1, (heads, -1)) for part in (query, key, value)]
    if packing.padding is not None:
        return _attend_padded(parts, packing.padding, dropout)
    trains = query.requires_grad and torch.is_grad_enabled()
    seen, start = [], 0
    for count, length in packing.groups:
        end = start + count * length
        # keys of the next row, which the mask hides, make their number round; slow to train
        more = -length % LANES
        if trains or end + more > len(key):
            more = 0
        # [n * t, heads, d / heads] -> [n, heads, t, d / heads]
        one, two, three = (part[start:end].unflatten(0, (-1, length)).transpose(1, 2) for part in parts)
        mask = None
        if more:
            wider = (part[start : end + more].unfold(0, length + more, length) for part in parts[1:])
            two, three = (part.transpose(2, 3) for part in wider)
            mask = _first(length, more, one.dtype)
        rows = attend(one, two, three, mask, dropout=dropout)
        seen.append(rows.transpose(1, 2).flatten(0, 1).flatten(1))
        start = end
    return torch.cat(seen)


@cache
def _first(keys: int, others: int, dtype: torch.dtype) -> Tensor:
    """Terms added to the scores that hide all but the first keys. *Shape:* ``[1, keys + others]``."""
    return F.pad(torch.zeros(1, keys, dtype=dtype), (0, others), value=float("-inf"))


def _attend_padded(parts: list[Tensor], padding: Padding, dropout: float) -> Tensor:
    count, longest = padding.mask.shape[0], padding.mask.shape[-1]
    query, key, value = (
        part.new_zeros(count * longest, *part.shape[1:])
        .index_copy(0, padding.indices, part)
        .unflatten(0, (count, longest))
        .transpose(1, 2)
        for part in parts
    )
    seen = attend(query, key, value, padding.mask, dropout=dropout)
    return seen.transpose(1, 2).flatten(0, 1)[padding.indices].flatten(1)


def packed_layer(layer: BertLayer, states: Tensor, packing: Packing) -> Tensor:
    """One layer of a BERT. *Shape:* ``[total, d]`` → ``[total, d]``."""
    part = layer.attention.self
    inputs = for_matrices(states)
    if not torch.is_grad_enabled():  # small gradients need all digits of the sums
        states = inputs
    query, key, value = part.query(inputs), part.key(inputs), part.value(inputs)
    dropout = part.dropout.p if part.training else 0.0
    seen = attend_in_rows(query, key, value, packing, heads=part.num_attention_heads, dropout=dropout)
    states = layer.attention.output(seen, states)
    return layer.output(layer.intermediate(states), states)


class PackedLayer(nn.Module):
    """One pre-norm transformer layer (arXiv:2002.04745) on packed rows."""

    def __init__(self, *, width: int, heads: int, dropout: float) -> None:
        super().__init__()
        self.heads = heads
        self.inputs = nn.Linear(width, 3 * width)
        self.out = nn.Linear(width, width)
        self.feed = nn.Sequential(nn.Linear(width, 2 * width), nn.GELU(), nn.Linear(2 * width, width))
        self.norms = nn.ModuleList(nn.LayerNorm(width) for _ in range(2))
        self.dropout = nn.Dropout(dropout)

    def forward(self, states: Tensor, packing: Packing) -> Tensor:
        """*Shape:* ``[total, d]`` → ``[total, d]``."""
        query, key, value = self.inputs(self.norms[0](states)).chunk(3, dim=-1)
        states = states + self.dropout(self.out(attend_in_rows(query, key, value, packing, heads=self.heads)))
        return states + self.dropout(self.feed(self.norms[1](states)))


def attend_jointly(layers: Iterable[nn.Module], rows: Ragged, owner: Tensor) -> Tensor:
    """Layers over all tokens of each group of sentences, such as a question and its facts.

    *Shape:* ``s`` rows of states ``[total, d]``, ``owner [s]`` the group of each, from 0 → ``[total, d]``.
    """
    order = torch.argsort(owner, stable=True)
    lengths = torch.zeros(int(owner.max()) + 1, dtype=torch.long, device=owner.device)
    packing = Packing.of(lengths.index_add(0, owner, rows.lengths))
    states = rows.select(order).flat
    for layer in layers:
        states = layer(states, packing)
    return Ragged(states, rows.lengths[order]).select(torch.argsort(order)).flat
