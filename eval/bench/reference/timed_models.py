"""Models to measure with: the bare encoder as a lower bound, and a retriever that follows the gold graphs.

An untrained model would follow paths that no trained one does, so it is timed on the paths of the gold graphs.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor
from transformers import BertModel

from bgr.graph.evidence_graph import EvidenceGraph, next_nodes
from bgr.models.batching import Batch
from bgr.models.ragged import Ragged, length_buckets
from bgr.models.retriever import BgrRetriever, EncodedBatch, Paths

SURE = 8.0
"""Log-odds of a step in the gold graph; the negative value is that of any other step."""


class BareEncoder:
    """A BERT on the distinct sentences of a batch in buckets of similar length: the lower bound of the benchmarks.

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
        """Compute the states and the gradients of a trivial loss."""
        self.bert.zero_grad()
        torch.stack([states.mean() for states in self.forward(batch)]).sum().backward()


class OracleRetriever:
    """A model for `decode` that does all the work of a retriever but follows the gold graphs.

    Args:
        model: the model that does the work.
        graphs: gold graphs of the batch.

    Attributes:
        steps: parents and columns of every level after the first.
    """

    def __init__(self, model: BgrRetriever, graphs: Sequence[EvidenceGraph]) -> None:
        self.model = model
        self.config = model.config
        self.graphs = graphs
        self.steps: list[tuple[Tensor, Tensor]] = []

    def start(self, encoded: EncodedBatch) -> Paths:
        return self.model.start(encoded)

    def extend(self, encoded: EncodedBatch, paths: Paths, parents: Tensor, columns: Tensor) -> Paths:
        self.steps.append((parents, columns))
        return self.model.extend(encoded, paths, parents, columns)

    def match(self, encoded: EncodedBatch, paths: Paths) -> Tensor:
        """Compute the model's logits and replace them by those of the gold graphs."""
        logits = self.model.match(encoded, paths)
        gold = torch.full_like(logits, -SURE)
        first = encoded.columns[:, 1].tolist()
        for row, (question, last) in enumerate(zip(paths.question.tolist(), paths.last.tolist(), strict=True)):
            fact = None if last < 0 else last - first[question]
            gold[row, [node + 1 for node in next_nodes(self.graphs[question], fact, self.config.direction)]] = SURE
        return gold.masked_fill(logits.isneginf(), float("-inf"))
