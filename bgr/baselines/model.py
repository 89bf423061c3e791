"""What all trained baselines share: an encoder, its token states, and a search over a batch."""

from __future__ import annotations

from abc import abstractmethod

import torch
from torch import nn
from transformers import PreTrainedModel

from bgr.baselines.beam import Search
from bgr.baselines.config import BaselineConfig
from bgr.baselines.sentences import TokenLayers, projection
from bgr.models.batching import Batch
from bgr.models.encoder import SentenceStates
from bgr.models.ragged import Ragged


class BaselineModel(PreTrainedModel):
    """Base class. A subclass builds its parts and overrides `search`.

    Token states are the encoder's, projected to `width`, behind `layers` transformer layers of the baseline's own. The
    two sides of a dual encoder share these and have vectors of their own.
    """

    config_class = BaselineConfig
    config: BaselineConfig
    base_model_prefix = "baseline"
    _no_split_modules = ["BertLayer"]  # noqa: RUF012

    def __init__(self, config: BaselineConfig) -> None:
        super().__init__(config)
        self.encoder = SentenceStates(config.encoder, frozen_layers=config.frozen_layers)
        self.project = projection(config.encoder.hidden_size, config.width)
        self.tokens = TokenLayers(width=config.width, heads=config.heads, layers=config.layers, dropout=config.dropout)
        self.build(config)
        self.post_init()
        self.encoder.freeze()

    def _init_weights(self, module: nn.Module) -> None:
        """Nothing: every part initialises itself where it is built."""

    @abstractmethod
    def build(self, config: BaselineConfig) -> None:
        """Make the parts of this baseline alone."""

    @abstractmethod
    def search(self, batch: Batch) -> list[Search]:
        """What is found for each question of a batch; each has a candidate."""

    def token_states(self, batch: Batch) -> tuple[Ragged, Ragged]:
        """States ``[total, width]`` of the batch's questions and of its facts, each sentence alone."""
        questions, facts = batch.questions, batch.facts
        rows = Ragged(torch.cat([questions.flat, facts.flat]), torch.cat([questions.lengths, facts.lengths]))
        if rows.flat.is_floating_point():
            rows = self.encoder.upper(Ragged(rows.flat.to(self.dtype), rows.lengths))
        else:
            rows = self.encoder(rows)
        states = self.tokens(Ragged(self.project(rows.flat), rows.lengths)).flat
        split = len(questions.flat)
        return Ragged(states[:split], questions.lengths), Ragged(states[split:], facts.lengths)
