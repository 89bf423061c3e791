"""The verifier: whether each of the few facts that a retriever considers is evidence, read together token by token.

The context layers (`bgr.models.context`) see every candidate as a few summary rows. What both directions consider
after their walks is read once more with all of its tokens, since a near name or a near relation (a boiling point for a
melting point) may differ in a single one. The verifier reads the states that both directions have computed, so it costs
a few thin layers over a dozen facts.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn
from transformers import PretrainedConfig, PreTrainedModel

from bgr.models.attention import PackedLayer, attend_jointly
from bgr.models.numbers import NumberMarks
from bgr.models.ragged import Ragged, Rows
from bgr.models.token_match import WAYS, Layout, TokenMarks, TokenMatch

SCALE = 4.0
"""Log-odds are divided by this before they are read."""


class VerifierConfig(PretrainedConfig):
    """Configuration of a `Verifier`.

    Args:
        states: width of the states that it reads, of both directions together.
        width: width of its layers.
        layers: number of its layers.
        dropout: dropout probability of its layers.
        most: maximum facts that are read for a question, the most probable ones.
        weight: what of its logit is added to the log-odds of each edge to a fact; chosen on dev.
    """

    model_type = "bgr-verifier"

    def __init__(
        self,
        states: int = 384,
        width: int = 192,
        layers: int = 3,
        dropout: float = 0.1,
        most: int = 14,
        weight: float = 0.5,
        **kwargs: Any,
    ) -> None:
        self.states, self.width, self.layers, self.dropout = states, width, layers, dropout
        self.most, self.weight = most, weight
        super().__init__(**kwargs)
        if not (1 <= states <= 1 << 17 and 1 <= layers <= 100 and 1 <= most <= 1_000):
            raise ValueError(
                f"states {states}, layers {layers} and most {most}, allowed: 1 or more, to 2¹⁷, 100 and 1,000"
            )
        if not (0 <= weight <= 10 and 0 <= dropout <= 1):
            raise ValueError(f"weight {weight} and dropout {dropout}, allowed: 0 to 10, 0 to 1")
        if not 1 <= width <= 1 << 16 or width % self.heads:
            raise ValueError(f"width is {width}, allowed: multiples of 64, or less than 128")

    @property
    def heads(self) -> int:
        """Attention heads, each of width 64."""
        return max(1, self.width // 64)


class Verifier(PreTrainedModel):
    """The logit of each of a question's facts that it is evidence."""

    config_class = VerifierConfig
    config: VerifierConfig
    base_model_prefix = "verifier"

    def __init__(self, config: VerifierConfig) -> None:
        super().__init__(config)
        width = config.width
        self.project = nn.Linear(config.states, width)
        self.match_tokens = TokenMatch()
        self.asked = TokenMarks(width=width)
        self.told = nn.Linear(WAYS, width, bias=False)
        self.numbers = NumberMarks(width=width)
        self.kind = nn.Parameter(torch.randn(2, width) * 0.02)
        self.odds = nn.Sequential(nn.Linear(2, 32), nn.GELU(), nn.Linear(32, width))
        self.layers = nn.ModuleList(
            PackedLayer(width=width, heads=config.heads, dropout=config.dropout) for _ in range(config.layers)
        )
        self.norm = nn.LayerNorm(width)
        self.out = nn.Sequential(nn.Linear(3 * width, width), nn.GELU(), nn.Linear(width, 1))
        self.slope = nn.Parameter(torch.full((2,), 0.35))
        nn.init.normal_(self.told.weight, std=0.5)
        self.post_init()

    def _init_weights(self, module: nn.Module) -> None:
        """Do nothing: every part initializes itself in its constructor."""

    def forward(self, questions: Rows, facts: Rows, candidates: Tensor, odds: Tensor) -> Tensor:
        """*Shape:* states ``[total, states]`` of ``q`` questions and of the distinct facts; ``candidates [q, c]`` each
        question's facts as indices into ``facts``, padded with −1; ``odds [f, 2]`` log-odds of the facts of each
        question in turn, by each direction → ``[f]``."""
        layout = Layout.of(candidates)
        told = facts.select(candidates[candidates >= 0])
        sentences = Rows.cat([questions, told])
        count, tokens = len(questions), len(questions.flat)
        matches = self.match_tokens(sentences, layout)
        # how well a token of a fact is matched by another fact
        own = layout.column.repeat_interleave(sentences.lengths)
        among = matches.scatter(2, own[:, None, None].expand(-1, WAYS, -1), -2.0)[tokens:, :, 1:].amax(2)
        of_fact = self.odds(odds / SCALE).repeat_interleave(told.lengths, 0) + self.told(among)
        states = self.project(sentences.flat) + self.asked(matches, sentences.lengths, layout)
        states = states + torch.cat([of_fact.new_zeros(tokens, of_fact.shape[1]), of_fact])
        states = states + torch.cat(self.numbers(questions, told, layout.question[count:]))
        states = states + self.kind[(layout.column > 0).long()].repeat_interleave(sentences.lengths, 0)
        states = self.norm(attend_jointly(self.layers, Ragged(states, sentences.lengths), layout.question))
        first = states[sentences.starts]  # [CLS] of each sentence
        mean = Ragged(states[tokens:], told.lengths).padded().sum(1) / told.lengths[:, None]
        joined = torch.cat([first[count:], mean, first[layout.question[count:]]], 1)
        logits: Tensor = self.out(joined).squeeze(1).float() + odds @ self.slope
        return logits
