"""Random weights of a T5 that can already copy a little.

Most of a fact's sentence, and of an answer, are names, copied. To copy, a decoder must find the input's token that is
like its own last one and say the token after it (an induction head), which a small T5 learns only after many thousands
of pairs. Here a few heads begin that way; training is free to change them.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn
from transformers import T5ForConditionalGeneration

FOCUS = 8.0
"""Added to the score of the token that a head is to look at; scores begin near 1."""


@torch.no_grad()
def ready_to_copy(model: T5ForConditionalGeneration) -> None:
    """Set some heads of a fresh T5; it needs two heads at least.

    Encoder: one head looks at the next token, one at the one before. Decoder: one head looks at the token before, and
    in each layer one head looks at the input's tokens that are like its own in themselves and in what came before, and
    hands on what comes next.
    """
    width, size = model.config.d_model, model.config.d_kv
    following, before, alike = (_rows(size, width) for _ in range(3))
    blocks: Any = model.decoder.block
    first: Any = model.encoder.block
    encoder, decoder = (side[0].layer[0].SelfAttention for side in (first, blocks))
    half = model.config.relative_attention_num_buckets // 2
    # buckets of T5's relative positions: from `half` on what follows, below it what came before
    encoder.relative_attention_bias.weight[half + 1, 0] += FOCUS
    encoder.relative_attention_bias.weight[1, 1] += FOCUS
    decoder.relative_attention_bias.weight[1, 0] += FOCUS
    _hand_on(encoder, 0, following)
    _hand_on(encoder, 1, before)
    _hand_on(decoder, 0, before)
    for block in blocks:
        cross = block.layer[1].EncDecAttention
        cross.q.weight[:size] = cross.k.weight[:size] = alike
        _hand_on(cross, 0, following)


def _rows(size: int, width: int) -> Tensor:
    return nn.init.orthogonal_(torch.empty(size, width))


def _hand_on(attention: Any, head: int, rows: Tensor) -> None:
    """The head gives what it looks at as it is, seen through `rows` ``[size, width]``."""
    part = slice(head * len(rows), (head + 1) * len(rows))
    attention.v.weight[part] = rows
    attention.o.weight[:, part] = rows.T
