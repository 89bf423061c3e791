"""The floor of every bench of the model: the bare encoder on the same tokens, in buckets of nearly equal length."""

from __future__ import annotations

import torch
from torch import Tensor
from transformers import BertModel

from bgr.models.batching import Batch
from bgr.models.ragged import Ragged, length_buckets


class BareEncoder:
    """A BERT that reads a batch's different sentences, and nothing else.

    Args:
        bert: the encoder, which the model may share.
    """

    def __init__(self, bert: BertModel) -> None:
        self.bert = bert

    def forward(self, batch: Batch) -> list[Tensor]:
        """The last token states of each bucket, questions and facts together. *Shape:* ``[s, t, d]`` each."""
        both = (batch.questions, batch.facts)
        rows = Ragged(torch.cat([part.flat for part in both]), torch.cat([part.lengths for part in both]))
        states = []
        for group in length_buckets(rows.lengths):
            part = rows.select(group)
            states.append(self.bert(input_ids=part.padded(), attention_mask=part.mask().long()).last_hidden_state)
        return states

    def forward_backward(self, batch: Batch) -> None:
        """The states, and the gradients of a loss that costs next to nothing."""
        self.bert.zero_grad()
        torch.stack([states.mean() for states in self.forward(batch)]).sum().backward()
