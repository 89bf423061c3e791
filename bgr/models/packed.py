"""BERT's layers on rows of unequal length laid end to end: nothing is computed for padding, there is none.

All that a layer does to each token alone runs once over the tokens of all rows. Only its attention looks at rows, and
rows of one length are a view of the flat states. On a GPU, where many small kernels cost more than a little padding,
attention alone is padded.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor
from transformers.models.bert.modeling_bert import BertLayer


@dataclass(frozen=True)
class Padding:
    """Each token's place in padded rows ``[total]``, and ``[s, 1, 1, t]``, true at tokens."""

    places: Tensor
    mask: Tensor


@dataclass(frozen=True)
class Packing:
    """How rows sorted by length lie in a flat tensor.

    Args:
        groups: for each length the number of rows and the length.
        within: ``[total]`` each token's place in its row.
        padding: for attention on padded rows; ``None`` for attention length by length.
    """

    groups: tuple[tuple[int, int], ...]
    within: Tensor
    padding: Padding | None

    @classmethod
    def of(cls, lengths: Tensor, *, padded: bool) -> Packing:
        """*Shape:* ``lengths [s]``, ascending."""
        sizes, counts = torch.unique_consecutive(lengths, return_counts=True)
        groups = tuple(zip(counts.tolist(), sizes.tolist(), strict=True))
        starts = lengths.cumsum(0) - lengths
        within = torch.arange(int(lengths.sum()), device=lengths.device) - starts.repeat_interleave(lengths)
        if not padded:
            return cls(groups, within, None)
        longest, rows = groups[-1][1], torch.arange(len(lengths), device=lengths.device)
        mask = torch.arange(longest, device=lengths.device) < lengths[:, None]
        places = rows.repeat_interleave(lengths) * longest + within
        return cls(groups, within, Padding(places, mask[:, None, None]))


def packed_layer(layer: BertLayer, states: Tensor, packing: Packing) -> Tensor:
    """One layer of a BERT. *Shape:* ``[total, d]`` → ``[total, d]``."""
    part = layer.attention.self
    chance = part.dropout.p if part.training else 0.0
    # [total, d] -> [total, heads, d / heads]
    shape = (part.num_attention_heads, -1)
    parts = [project(states).unflatten(-1, shape) for project in (part.query, part.key, part.value)]
    if packing.padding is None:
        seen = _by_length(parts, packing.groups, chance)
    else:
        seen = _padded(parts, packing.padding, chance)
    states = layer.attention.output(seen, states)
    return layer.output(layer.intermediate(states), states)


def _by_length(parts: list[Tensor], groups: tuple[tuple[int, int], ...], dropout: float) -> Tensor:
    sizes = [count * length for count, length in groups]
    seen = []
    for (_, length), *group in zip(groups, *(part.split(sizes) for part in parts), strict=True):
        # [n * t, heads, d / heads] -> [n, heads, t, d / heads]
        query, key, value = (part.unflatten(0, (-1, length)).transpose(1, 2) for part in group)
        rows = F.scaled_dot_product_attention(query, key, value, dropout_p=dropout)
        seen.append(rows.transpose(1, 2).flatten(0, 1).flatten(1))
    return torch.cat(seen)


def _padded(parts: list[Tensor], padding: Padding, dropout: float) -> Tensor:
    count, longest = padding.mask.shape[0], padding.mask.shape[-1]
    query, key, value = (
        part.new_zeros(count * longest, *part.shape[1:])
        .index_copy(0, padding.places, part)
        .unflatten(0, (count, longest))
        .transpose(1, 2)
        for part in parts
    )
    seen = F.scaled_dot_product_attention(query, key, value, attn_mask=padding.mask, dropout_p=dropout)
    return seen.transpose(1, 2).flatten(0, 1)[padding.places].flatten(1)
