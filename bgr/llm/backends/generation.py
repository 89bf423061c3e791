"""Many replies written at once by one model; what all prompts begin with is read once, and a reply that is done leaves
the batch.

`transformers.generate` goes on with all rows until the last is done, and copies all keys and values for every token.
Replies differ in length by far, so that is more than half of the work on a CPU.
"""

from __future__ import annotations

import inspect
from collections.abc import Collection, Sequence
from typing import Any

import torch
from torch import Tensor
from transformers import DynamicCache
from transformers.cache_utils import DynamicLayer

from bgr.llm.backends.cpu_attention import NAME
from bgr.llm.backends.sampler import Row

ROOM = 64
"""Tokens for which a layer takes memory ahead."""

SHARED = 24
"""Fewest tokens that prompts begin with alike for which a pass of their own is worth it."""

LEAVE = 1 / 8
"""Share of a batch that is done when it leaves: leaving copies what stays."""


def write(model: Any, prompts: Sequence[Sequence[int]], rows: Sequence[Row], pad: int) -> None:
    """Write all rows to their ends; one after the other where a layer keeps a state in place of keys, which padding
    would spoil.

    Args:
        model: causal language model of `transformers`, in evaluation mode, that takes ``past_key_values``.
        prompts: token ids, one list a row.
        rows: what is written, see `Row`.
        pad: token id for places that nobody looks at.
    """
    if any(hasattr(layer, "recurrent_states") for layer in DynamicCache(config=model.config).layers):
        for prompt, row in zip(prompts, rows, strict=True):
            _write(model, [prompt], [row], pad)
    else:
        _write(model, prompts, rows, pad)


def _write(model: Any, prompts: Sequence[Sequence[int]], rows: Sequence[Row], pad: int) -> None:
    """All rows at once."""
    cache, known = growing_cache(model), inspect.signature(model.forward).parameters
    there = list(rows)  # in the batch
    with torch.inference_mode():
        scores, mask = _read(model, known, prompts, cache, pad)
        while True:
            tokens = [row.write(of_row) if not row.done else pad for row, of_row in zip(there, scores, strict=True)]
            live = [place for place, row in enumerate(there) if not row.done]
            if not live:
                return
            if len(there) - len(live) >= LEAVE * len(there):
                keep = torch.tensor(live, device=mask.device)
                cache.batch_select_indices(keep)
                mask, there, tokens = mask[keep], [there[place] for place in live], [tokens[place] for place in live]
            ids = torch.tensor(tokens, device=mask.device)[:, None]
            mask = torch.cat([mask, mask.new_ones(len(there), 1)], 1)
            scores = _scores(model, known, ids, mask, cache)


def _read(
    model: Any, known: Collection[str], prompts: Sequence[Sequence[int]], cache: DynamicCache, pad: int
) -> tuple[Tensor, Tensor]:
    """Scores after the prompts, and which places of the cache hold a token of a row, int64 [rows, places]: first those
    that all begin with, then each row's own, padded on the left. Layers that see a part of the places only would take
    the padding between the two for tokens."""
    same = shared_tokens(prompts) if all(type(layer) is GrowingLayer for layer in cache.layers) else 0
    if same < SHARED:
        same = 0
    else:
        ids = torch.tensor([prompts[0][:same]], device=model.device)
        _scores(model, known, ids, torch.ones_like(ids), cache)
        cache.batch_repeat_interleave(len(prompts))
    longest = max(map(len, prompts))
    ids = torch.tensor([[pad] * (longest - len(prompt)) + list(prompt[same:]) for prompt in prompts])
    mask = torch.tensor([[1] * same + [0] * (longest - len(prompt)) + [1] * (len(prompt) - same) for prompt in prompts])
    mask = mask.to(model.device)
    return _scores(model, known, ids.to(model.device), mask, cache), mask


def shared_tokens(prompts: Sequence[Sequence[int]]) -> int:
    """How many tokens two or more prompts all begin with; one is left to each row, whose scores come after it."""
    if len(prompts) < 2:
        return 0
    rows = sorted(map(tuple, prompts))
    first, last = rows[0], rows[-1]  # what these two begin with, those between them do too
    most = min(map(len, rows)) - 1
    return next((place for place in range(most) if first[place] != last[place]), most)


def _scores(model: Any, known: Collection[str], ids: Tensor, mask: Tensor, cache: DynamicCache) -> Tensor:
    """Of the next token, float32 [rows, vocabulary]; `known` are the names that the model takes."""
    settings: dict[str, Any] = {"logits_to_keep": 1} if "logits_to_keep" in known else {}
    if "position_ids" in known:
        settings["position_ids"] = (mask.cumsum(1) - 1).clamp(min=0)[:, -ids.shape[1] :]
    found = model(input_ids=ids, attention_mask=mask, past_key_values=cache, use_cache=True, **settings)
    return found.logits[:, -1].float()


def growing_cache(model: Any) -> DynamicCache:
    """The model's cache, its plain layers such that grow in place where its mask can hide their free room: older
    models make masks of their own, Flash Attention looks at lengths."""
    cache = DynamicCache(config=model.config)
    kernel = getattr(model.config.get_text_config(), "_attn_implementation", None)
    if not getattr(model, "_supports_attention_backend", False) or kernel not in ("eager", "sdpa", NAME):
        return cache
    cache.layers = [GrowingLayer() if type(layer) is DynamicLayer else layer for layer in cache.layers]
    return cache


class GrowingLayer(DynamicLayer):
    """A layer's keys and values, ``[rows, heads, room, width]``, in memory that is taken ahead: a new token is written
    beside the old ones, not copied with them. What is read is all of the room, whose end the mask hides: a product over
    a part of it would copy that part first."""

    def __init__(self) -> None:
        super().__init__()
        self.length = 0

    def update(self, key_states: Tensor, value_states: Tensor, *args: Any, **kwargs: Any) -> tuple[Tensor, Tensor]:
        """See `DynamicLayer`."""
        if not self.is_initialized:
            self.lazy_initialization(key_states, value_states)
        before, self.length = self.length, self.length + key_states.shape[2]
        room, _ = self.get_mask_sizes(0)
        self.keys = _with(self.keys, key_states, before, room)
        self.values = _with(self.values, value_states, before, room)
        return self.keys, self.values

    def get_seq_length(self) -> int:
        """Tokens that are held."""
        return self.length

    def get_mask_sizes(self, query_length: int) -> tuple[int, int]:
        """The room when so many tokens more are held, and where it begins."""
        keys, needed = self.keys, self.length + query_length
        held = 0 if keys is None or not keys.numel() else keys.shape[2]
        return held if needed <= held else needed + ROOM, 0


def _with(held: Tensor | None, states: Tensor, before: int, room: int) -> Tensor:
    """Held states with new ones after the first `before`; in a greater room where there is none left."""
    if held is None or not held.numel() or held.shape[2] < room:
        rows, heads, _, width = states.shape
        # what is hidden counts 0 times, and that must not be a number that is none
        grown = states.new_zeros(rows, heads, room, width)
        if before and held is not None:
            grown[:, :, :before] = held[:, :, :before]
        held = grown
    held[:, :, before : before + states.shape[2]] = states
    return held
