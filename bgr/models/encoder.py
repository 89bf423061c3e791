"""The BERT of one direction, run on ragged rows and split where its frozen layers end."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from transformers import BertConfig, BertModel

from bgr.models.packed import Packing, packed_layer
from bgr.models.ragged import Ragged, length_buckets


class SentenceStates(nn.Module):
    """BERT's token states for rows of unequal length, without work on padding (`bgr.models.packed`).

    `lower` runs the embeddings and the frozen layers, `upper` the rest; ``upper(lower(ids))`` equals the BERT.

    Args:
        config: the BERT's configuration.
        frozen_layers: layers that belong to `lower`; with ``0`` even the embeddings are trained and `lower` is empty.
    """

    def __init__(self, config: BertConfig, *, frozen_layers: int) -> None:
        super().__init__()
        self.bert = BertModel(config, add_pooling_layer=False)
        self.frozen_layers = frozen_layers
        self.freeze()

    def freeze(self) -> None:
        """Switch off the gradients of what training leaves alone."""
        for parameter in self.frozen_parameters():
            parameter.requires_grad_(False)

    def frozen_parameters(self) -> list[nn.Parameter]:
        """Of the embeddings and the frozen layers, in a fixed order; none where nothing is frozen."""
        if not self.frozen_layers:
            return []
        parts = (self.bert.embeddings, *self.bert.encoder.layer[: self.frozen_layers])
        return [parameter for part in parts for parameter in part.parameters()]

    def lower(self, ids: Ragged) -> Ragged:
        """Token ids → states below the trained layers. Without gradients and without dropout, so it may be kept.

        *Shape:* ``ids.flat [total]`` → ``[total, d]``; the ids themselves where nothing is frozen.
        """
        if not self.frozen_layers:
            return ids
        was_training = self.bert.training
        self.bert.eval()
        with torch.no_grad():
            states = self._run(ids, 0, self.frozen_layers)
        self.bert.train(was_training)
        return states

    def upper(self, states: Ragged) -> Ragged:
        """What `lower` gave → the BERT's last token states ``[total, d]``."""
        return self._run(states, self.frozen_layers, self.bert.config.num_hidden_layers)

    def forward(self, ids: Ragged) -> Ragged:
        return self.upper(self.lower(ids))

    def _run(self, rows: Ragged, first: int, last: int) -> Ragged:
        needs_embedding = not rows.flat.is_floating_point()
        if first == last and not needs_embedding:
            return rows
        pieces, taken = [], []
        # sorted by length, and cut where it would be too much at once
        for group in length_buckets(rows.lengths, waste=1.0):
            part = rows.select(group)
            packing = Packing.of(part.lengths)
            states = self._embedded(part.flat, packing) if needs_embedding else part.flat
            for layer in self.bert.encoder.layer[first:last]:
                states = packed_layer(layer, states, packing)
            pieces.append(states)
            taken.append(group)
        order = torch.cat(taken)
        return Ragged(torch.cat(pieces), rows.lengths[order]).select(torch.argsort(order))

    def _embedded(self, ids: Tensor, packing: Packing) -> Tensor:
        # all tokens at once: the gradient of a table of words is as large as the table, however few are looked up
        kinds = torch.zeros_like(ids)[None]
        return self.bert.embeddings(ids[None], token_type_ids=kinds, position_ids=packing.within[None])[0]
