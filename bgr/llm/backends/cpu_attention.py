"""Attention of a language model on a CPU, in a third of the time of PyTorch's own kernel (bfloat16).

With the generation loop (`bgr.llm.backends.generation`), a batch takes 0.37 to 0.79 times as long as `generate` of
transformers (`bgr bench llm`, docs/speed.md).
"""

from __future__ import annotations

from typing import Any

import torch
from transformers import AttentionInterface
from transformers.integrations.sdpa_attention import sdpa_attention_forward
from transformers.masking_utils import AttentionMaskInterface, sdpa_mask

NAME = "bgr_cpu"
"""Value of `attn_implementation` of a `transformers` model."""

BLOCK = 128
"""Queries per block, so few that their scores stay in the processor's cache."""


def use_cpu_attention(model: Any) -> None:
    """Use attention by blocks in a `transformers` model on the CPU if it uses PyTorch's kernel now."""
    if getattr(model.config.get_text_config(), "_attn_implementation", None) == "sdpa":
        AttentionInterface.register(NAME, attention)
        AttentionMaskInterface.register(NAME, sdpa_mask)
        model.set_attn_implementation(NAME)


def attention(
    module: torch.nn.Module,
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    attention_mask: torch.Tensor | None,
    scaling: float | None = None,
    **others: Any,
) -> tuple[torch.Tensor, None]:
    """A replacement for `sdpa_attention_forward` of `transformers` that handles prompts block by block.

    A block of queries is multiplied only with the keys up to its own end, and query heads that share keys form one
    matrix product.

    Args:
        module: the layer.
        query: [rows, heads, queries, width].
        key, value: [rows, key heads, keys, width]; values may have another width.
        attention_mask: keys visible to each query, bool [rows or 1, 1, queries, keys]; ``None`` for all keys up to the
            query's own, or all keys for a single query.
        scaling: factor of the scores; default: 1 / √width.
        others: further arguments. PyTorch's kernel handles other values than the defaults, and a single query whose
            keys would have to be copied.

    Returns:
        [rows, queries, heads, width of the values], and no weights.
    """
    queries, keys = query.shape[2], key.shape[2]
    plain = not others.get("dropout") and others.get("is_causal") is not False
    plain = plain and all(others.get(name) is None for name in ("softcap", "position_bias", "cache", "s_aux"))
    plain = plain and (attention_mask is None or attention_mask.dtype == torch.bool)
    plain = plain and (queries > 1 or (key.is_contiguous() and value.is_contiguous()))
    if keys < queries or not plain or not getattr(module, "is_causal", True):
        return sdpa_attention_forward(module, query, key, value, attention_mask, scaling=scaling, **others)
    if attention_mask is None:
        if queries > 1:  # the first key belongs to the first query; later keys are not filled yet
            key, value, keys = key[:, :, :queries], value[:, :, :queries], queries
        attention_mask = torch.ones(queries, keys, dtype=torch.bool).tril(keys - queries)[None, None]
    scale = query.shape[-1] ** -0.5 if scaling is None else scaling
    return by_blocks(query * scale, key, value, attention_mask), None


def by_blocks(query: torch.Tensor, key: torch.Tensor, value: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
    """Attention of scaled queries under a causal mask; the last query is at the position of the last key or before."""
    rows, heads, queries, width = query.shape
    shared, keys = key.shape[1], key.shape[2]
    transposed = key.reshape(rows * shared, keys, width).transpose(1, 2)
    values = value.reshape(rows * shared, keys, -1)
    bias = torch.zeros((), dtype=query.dtype).masked_fill(~mask, torch.finfo(query.dtype).min)
    found = query.new_empty(rows, queries, heads, value.shape[-1])
    for start in range(0, queries, BLOCK):
        end = min(start + BLOCK, queries)
        seen = keys - queries + end
        block = query[:, :, start:end].reshape(rows * shared, -1, width)
        scores = torch.bmm(block, transposed[:, :, :seen]).view(rows, heads, end - start, seen)
        scores += bias[:, :, start:end, :seen]
        weights = scores.softmax(-1).view(rows * shared, -1, seen)
        block = torch.bmm(weights, values[:, :seen]).view(rows, heads, end - start, -1)
        found[:, start:end] = block.transpose(1, 2)
    return found
