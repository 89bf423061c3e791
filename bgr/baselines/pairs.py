"""A fact's vector in the light of a question.

GRR (arXiv:1911.10470) and SSG (arXiv:2106.01074) run the encoder over question and fact together, for each pair anew.
Over a frozen encoder, whose states are kept sentence by sentence, the two meet behind it: by attention from the fact's
summary rows to the question's tokens, and by late interaction of the tokens, as in BGR's matcher.
"""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from bgr.models.attention import Attention
from bgr.models.matcher import FactRows
from bgr.models.ragged import Ragged, take
from bgr.models.token_match import TokenMatch


class FactsInQuestion(nn.Module):
    """``v = LN(W_1 GELU(W_2 [x; y; x ⊙ y]) + W_3 m)`` with a fact's rows ``x``, what they see of the question ``y``,
    and the token match ``m``.

    Args:
        width: ``d``.
        heads: attention heads.
        rows: ``r``, summary rows of a fact.
        dropout: probability.
    """

    def __init__(self, *, width: int, heads: int, rows: int, dropout: float) -> None:
        super().__init__()
        self.rows = FactRows(width=width, heads=heads, rows=rows, dropout=dropout)
        self.question = Attention(width=width, heads=heads)
        self.both = nn.Linear(3 * width, width // 2)
        self.match = TokenMatch(width=width)
        self.join = nn.Linear(rows * (width // 2) + self.match.features, width)
        self.dropout = nn.Dropout(dropout)
        self.norm = nn.LayerNorm(width)

    def forward(self, questions: Ragged, facts: Ragged, candidates: Tensor) -> Tensor:
        """*Shape:* ``questions`` of ``q`` rows, ``facts`` of ``f`` rows, ``candidates [q, c]`` numbers into ``facts``,
        −1 where there is none → ``[q, c, d]``, anything there."""
        places = candidates.clamp(min=0)
        rows = take(self.rows(facts.padded(), facts.mask()), places)
        # [q, c, r, d] -> [q, c * r, d]: all rows of a question's facts look at its tokens
        seen = self.question(rows.flatten(1, 2), questions.padded(), questions.mask()).view(rows.shape)
        hidden = F.gelu(self.both(torch.cat([rows, seen, rows * seen], dim=-1))).flatten(2)
        matched = self.match(self.match.of_facts(facts).select(places), self.match.of_paths(questions))
        return self.norm(self.join(torch.cat([self.dropout(hidden), matched], dim=-1)))
