"""The BERT encoder of one direction, run on ragged rows and split after its frozen layers, and the projection of its
token states to the width of the retriever.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TypeVar

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from transformers import BertConfig, BertModel

from bgr.models.attention import Packing, packed_layer
from bgr.models.ragged import Ragged, length_buckets, take

AnyRows = TypeVar("AnyRows", bound=Ragged)


class SentenceStates(nn.Module):
    """Token states of a BERT for rows of unequal length, without computation on padding (`bgr.models.attention`).

    `lower` runs the embeddings and the frozen layers, `upper` the rest; ``upper(lower(ids))`` equals the BERT. With 0
    frozen layers, the embeddings are trained too and `lower` is empty.
    """

    def __init__(self, config: BertConfig, *, frozen_layers: int) -> None:
        super().__init__()
        self.bert = BertModel(config, add_pooling_layer=False)
        self.frozen_layers = frozen_layers
        self.freeze()

    def freeze(self) -> None:
        """Disable the gradients of the frozen parameters."""
        for parameter in self.frozen_parameters():
            parameter.requires_grad_(False)

    def frozen_parameters(self) -> list[nn.Parameter]:
        """The parameters of the embeddings and the frozen layers, in a fixed order; empty without frozen layers."""
        if not self.frozen_layers:
            return []
        parts = (self.bert.embeddings, *self.bert.encoder.layer[: self.frozen_layers])
        return [parameter for part in parts for parameter in part.parameters()]

    def frozen_names(self) -> list[str]:
        """Names of `frozen_parameters` in the state of this module."""
        frozen = {id(parameter) for parameter in self.frozen_parameters()}
        return [name for name, parameter in self.named_parameters() if id(parameter) in frozen]

    def share_frozen(self, other: SentenceStates) -> None:
        """Use the frozen parameters of `other`, which must be equal, so that memory holds them once."""
        if self.frozen_layers:
            self.bert.embeddings = other.bert.embeddings
        for number in range(self.frozen_layers):
            self.bert.encoder.layer[number] = other.bert.encoder.layer[number]

    def lower(self, ids: AnyRows) -> AnyRows:
        """Token ids → output of the frozen layers, without gradients and without dropout, so it may be cached.

        *Shape:* ``ids.flat [total]`` → ``[total, d]``; the ids themselves without frozen layers.
        """
        if not self.frozen_layers:
            return ids
        was_training = self.bert.training
        self.bert.eval()
        with torch.no_grad():
            states = self._run(ids, 0, self.frozen_layers)
        self.bert.train(was_training)
        return states

    def upper(self, states: AnyRows) -> AnyRows:
        """Output of `lower` → the last token states of the BERT ``[total, d]``."""
        return self._run(states, self.frozen_layers, self.bert.config.num_hidden_layers)

    def forward(self, ids: AnyRows) -> AnyRows:
        return self.upper(self.lower(ids))

    def _run(self, rows: AnyRows, first: int, last: int) -> AnyRows:
        needs_embedding = not rows.flat.is_floating_point()
        if first == last and not needs_embedding:
            return rows
        pieces = []
        groups = length_buckets(rows.lengths, waste=1.0)  # of similar length and limited size
        for part in map(rows.select, groups):
            packing, states = Packing.of(part.lengths), part.flat
            if needs_embedding:
                kinds, positions = torch.zeros_like(states)[None], packing.within[None]
                states = self.bert.embeddings(states[None], token_type_ids=kinds, position_ids=positions)[0]
            for layer in self.bert.encoder.layer[first:last]:
                states = packed_layer(layer, states, packing)
            pieces.append(states)
        order = torch.cat(groups)
        states = Ragged(torch.cat(pieces), rows.lengths[order]).select(torch.argsort(order)).flat
        return replace(rows, flat=states)


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
