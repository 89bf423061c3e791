"""From the encoder's token states to the width of the retriever."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from bgr.models.ragged import take


class Projection(nn.Module):
    """``LN(W h + V LN(e))`` of a token's state ``h`` and its word embedding ``e``.

    The word embedding tells what the token *is*, which a state in context has partly given up, and by which the names
    of two sentences are recognized as the same. Without `words` and with the encoder's own width, the states stay as
    they are (the paper's model).
    """

    def __init__(self, encoder_width: int, width: int, *, words: bool) -> None:
        super().__init__()
        same = width == encoder_width
        # random rotations nearly preserve the angles between token states, so equal words are similar from the start
        self.states = nn.Identity() if same else _rotation(encoder_width, width)
        self.words = _rotation(encoder_width, width) if words else None
        self.norm = nn.Identity() if same and not words else nn.LayerNorm(width)

    def forward(self, states: Tensor, ids: Tensor, embeddings: Tensor) -> Tensor:
        """*Shape:* ``states [total, w]``, ``ids [total]``, ``embeddings [v, w]`` → ``[total, d]``."""
        found = self.states(states)
        if self.words is not None:
            distinct, which = torch.unique(ids, return_inverse=True)
            known = F.embedding(distinct, embeddings)
            found = found + take(self.words(F.layer_norm(known, known.shape[-1:])), which)
        projected: Tensor = self.norm(found)
        return projected


def _rotation(encoder_width: int, width: int) -> nn.Linear:
    rotation = nn.Linear(encoder_width, width, bias=False)
    nn.init.orthogonal_(rotation.weight)
    return rotation
