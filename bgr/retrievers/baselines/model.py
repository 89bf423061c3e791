"""The base class of all trained baselines, and its layers on top of a frozen encoder.

GRR (arXiv:1911.10470) and SSG (arXiv:2106.01074) run the encoder over each pair of question and fact. Here the states
of a frozen encoder are cached for each sentence, so the two interact after the encoder: by attention from the fact's
summary rows to the question's tokens, and by late interaction of the tokens.

Summary rows must learn from scratch that the same name occurs in both sentences. Late interaction (ColBERT,
arXiv:2004.12832, section 3.2) reads it directly from the similarity of the token states.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import replace
from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from transformers import PreTrainedModel

from bgr.models.attention import Attention, Packing, attend_in_rows
from bgr.models.batching import Batch
from bgr.models.encoder import SentenceStates
from bgr.models.linear import round_linears
from bgr.models.matcher import FactRows
from bgr.models.ragged import Ragged, take
from bgr.retrievers.baselines.baseline_config import BaselineConfig
from bgr.retrievers.baselines.beam import Search


class Tokens(NamedTuple):
    """Projected tokens of sentences: unit vectors ``[n, t, heads, s]`` and weights ``[n, t, k]`` that sum to 1 over the
    tokens. Both are 0 at padding."""

    vectors: Tensor
    weights: Tensor

    def select(self, rows: Tensor) -> Tokens:
        return Tokens(take(self.vectors, rows), take(self.weights, rows))


class TokenSimilarity(nn.Module):
    """``4 σ(a (max(0, cos) − b)) − 2``: near 2 for a token that also occurs on the other side, else near −2.

    The range is that of the features it is combined with, so that it has an effect from the start. ``a`` and ``b`` are
    learned for each of `heads` projections.
    """

    def __init__(self, heads: int) -> None:
        super().__init__()
        self.sharpness = nn.Parameter(torch.full((heads,), 12.0))
        self.middle = nn.Parameter(torch.full((heads,), 0.6))

    def forward(self, cosines: Tensor) -> Tensor:
        """*Shape:* ``[n, heads, …]`` → the same."""
        a, b = (part.view(-1, *[1] * (cosines.dim() - 2)) for part in (self.sharpness, self.middle))
        return 4 * (a * (cosines.relu() - b)).sigmoid() - 2


class LateInteraction(nn.Module):
    """Scores for pairs of sentences: how well the tokens of each are matched by the other.

    Each of `heads` projections of width `size` (``s``) has its own cosine. The match of token ``i`` is ``m_i``,
    `TokenSimilarity` of its best cosine with the tokens of the other side. ``k`` learned `weightings` sum the matches
    over the sentence: one may look at names, another at the words of the relation.
    """

    def __init__(self, *, width: int, heads: int = 2, size: int = 64, weightings: int = 8) -> None:
        super().__init__()
        self.heads = heads
        self.features = 2 * heads * weightings
        self.fact = nn.Linear(width, heads * size, bias=False)
        self.path = nn.Linear(width, heads * size, bias=False)
        self.fact_weight = nn.Linear(width, weightings)
        self.path_weight = nn.Linear(width, weightings)
        self.matched = TokenSimilarity(heads)
        # both sides start with the same random rotation, which preserves the cosines of the token states
        nn.init.orthogonal_(self.fact.weight)
        with torch.no_grad():
            self.path.weight.copy_(self.fact.weight)

    def of_facts(self, rows: Ragged) -> Tokens:
        """Project the tokens of facts, ``[total, d]`` of ``f`` rows."""
        return self._tokens(rows, self.fact(rows.flat), self.fact_weight(rows.flat))

    def of_paths(self, rows: Ragged) -> Tokens:
        """Project the tokens of paths, ``[total, d]`` of ``p`` rows."""
        return self._tokens(rows, self.path(rows.flat), self.path_weight(rows.flat))

    def _tokens(self, rows: Ragged, vectors: Tensor, weights: Tensor) -> Tokens:
        unit = F.normalize(vectors.unflatten(-1, (self.heads, -1)), dim=-1)
        return Tokens(replace(rows, flat=unit).padded(), replace(rows, flat=weights).padded(float("-inf")).softmax(1))

    def forward(self, facts: Tokens, paths: Tokens) -> Tensor:
        """*Shape:* ``facts [p, c, …]`` (each path's candidates), ``paths [p, …]`` → ``[p, c, 2 · heads · k]``."""
        p, c, t = facts.weights.shape[:3]
        # [p, heads, c * t, s] x [p, heads, s, t_p] -> cosines [p, heads, c, t, t_p]
        left = facts.vectors.flatten(1, 2).transpose(1, 2)
        cosines = (left @ paths.vectors.permute(0, 2, 3, 1)).view(p, self.heads, c, t, -1)
        # padding is the zero vector: its cosine is 0, and `TokenSimilarity` clips cosines at 0
        of_fact, of_path = (self.matched(cosines.amax(dim)) for dim in (-1, -2))
        # [p, heads, c, t], [p, c, t, k] -> [p, c, heads, k]
        fact_scores = torch.einsum("phct,pctk->pchk", of_fact, facts.weights)
        path_scores = torch.einsum("phct,ptk->pchk", of_path, paths.weights)
        return torch.cat([fact_scores.flatten(2), path_scores.flatten(2)], dim=-1)


class ShortRowLayer(nn.Module):
    """One pre-norm transformer layer (arXiv:2002.04745) over rows of a few dozen tokens, many of the same length.

    On a CPU their attention is computed in 32 bits by plain products: 16-bit kernels are compiled for each shape, of
    which there are many, so that a training step takes twice as long.
    """

    def __init__(self, *, width: int, heads: int, dropout: float) -> None:
        super().__init__()
        self.attention = Attention(width=width, heads=heads)
        self.feed = nn.Sequential(nn.Linear(width, 2 * width), nn.GELU(), nn.Linear(2 * width, width))
        self.norms = nn.ModuleList(nn.LayerNorm(width) for _ in range(2))
        self.dropout = nn.Dropout(dropout)
        # queries and keys start as the same rotation: at first a token attends to similar tokens
        nn.init.orthogonal_(self.attention.query.weight)
        with torch.no_grad():
            self.attention.key_value.weight[:width].copy_(self.attention.query.weight)

    def forward(self, states: Tensor, packing: Packing) -> Tensor:
        """*Shape:* ``[total, d]`` → ``[total, d]``, where each token attends to those of its row."""
        states = states + self.dropout(self._attend(self.norms[0](states), packing))
        return states + self.dropout(self.feed(self.norms[1](states)))

    def _attend(self, states: Tensor, packing: Packing) -> Tensor:
        part = self.attention
        key, value = part.key_value(states).chunk(2, dim=-1)
        return part.out(attend_in_short_rows(part.query(states), key, value, packing, heads=part.heads))


def attend_in_short_rows(query: Tensor, key: Tensor, value: Tensor, packing: Packing, *, heads: int) -> Tensor:
    """`bgr.models.attention.attend_in_rows` for short rows. *Shape:* all ``[total, d]``."""
    if packing.padding is not None:
        return attend_in_rows(query, key, value, packing, heads=heads)
    # [total, d] -> [total, heads, d / heads]
    parts = [part.float().unflatten(-1, (heads, -1)) for part in (query, key, value)]
    sizes = [count * length for count, length in packing.groups]
    seen = []
    with torch.autocast(query.device.type, enabled=False):
        for (_, length), *group in zip(packing.groups, *(part.split(sizes) for part in parts), strict=True):
            # [n * t, heads, d / heads] -> [n, heads, t, d / heads]
            q, k, v = (part.unflatten(0, (-1, length)).transpose(1, 2) for part in group)
            rows = (q * q.shape[-1] ** -0.5 @ k.transpose(-1, -2)).softmax(-1) @ v
            seen.append(rows.transpose(1, 2).flatten(0, 1).flatten(1))
    return torch.cat(seen).to(query.dtype)


class TokenLayers(nn.Module):
    """Transformer layers over rows of tokens, each row alone; without layers, the rows are unchanged."""

    def __init__(self, *, width: int, heads: int, layers: int, dropout: float) -> None:
        super().__init__()
        self.layers = nn.ModuleList(ShortRowLayer(width=width, heads=heads, dropout=dropout) for _ in range(layers))

    def forward(self, rows: Ragged) -> Ragged:
        """*Shape:* ``[total, d]`` → ``[total, d]``."""
        if not self.layers:
            return rows
        # sorting by length gives the fewest groups
        order = torch.argsort(rows.lengths, stable=True)
        part = rows.select(order)
        packing, states = Packing.of(part.lengths), part.flat
        for layer in self.layers:
            states = layer(states, packing)
        return Ragged(states, part.lengths).select(torch.argsort(order))


class SentenceVectors(nn.Module):
    """One vector for each sentence, from the mean of its token states and a few trained summary rows.

    ``v = LN(mean + W [r_1; …; r_k])`` with ``W = 0`` at the start, so that the distances of sentences are initially
    those of the encoder's mean states.

    `width` is ``d``; `rows` is ``k``, the number of summary rows (`bgr.models.matcher.FactRows`).
    """

    def __init__(self, *, width: int, heads: int, rows: int, dropout: float) -> None:
        super().__init__()
        self.rows = FactRows(width=width, heads=heads, rows=rows, dropout=dropout)
        self.join = nn.Linear(rows * width, width)
        self.norm = nn.LayerNorm(width)
        nn.init.zeros_(self.join.weight)
        nn.init.zeros_(self.join.bias)

    def forward(self, sentences: Ragged) -> Tensor:
        """*Shape:* ``[total, d]`` of ``s`` rows → ``[s, d]``."""
        states, mask = sentences.padded(), sentences.mask()
        mean = states.sum(1) / sentences.lengths[:, None]
        return self.norm(mean + self.join(self.rows(states, mask).flatten(1)))


def projection(encoder_width: int, width: int) -> nn.Module:
    """From the encoder's width to a baseline's, by a random rotation, which nearly preserves angles."""
    project = nn.Linear(encoder_width, width)
    nn.init.orthogonal_(project.weight)
    return nn.Sequential(project, nn.LayerNorm(width))


class FactsInQuestion(nn.Module):
    """A fact's vector given a question: ``v = LN(W_1 GELU(W_2 [x; y; x ⊙ y]) + W_3 m)`` with the fact's rows ``x``,
    their attention to the question ``y``, and the token match ``m``.

    `width` is ``d``; `rows` is the number of summary rows of a fact.
    """

    def __init__(self, *, width: int, heads: int, rows: int, dropout: float) -> None:
        super().__init__()
        self.rows = FactRows(width=width, heads=heads, rows=rows, dropout=dropout)
        self.question = Attention(width=width, heads=heads)
        self.both = nn.Linear(3 * width, width // 2)
        self.match = LateInteraction(width=width)
        self.join = nn.Linear(rows * (width // 2) + self.match.features, width)
        self.dropout = nn.Dropout(dropout)
        self.norm = nn.LayerNorm(width)

    def forward(self, questions: Ragged, facts: Ragged, candidates: Tensor) -> Tensor:
        """*Shape:* ``questions`` of ``q`` rows, ``facts`` of ``f`` rows, ``candidates [q, c]`` numbers into ``facts``,
        −1 for padding → ``[q, c, d]``, with arbitrary values at the padding."""
        places = candidates.clamp(min=0)
        rows = take(self.rows(facts.padded(), facts.mask()), places)
        # [q, c, r, d] -> [q, c * r, d]: all rows of a question's facts attend to its tokens
        seen = self.question(rows.flatten(1, 2), questions.padded(), questions.mask()).view(rows.shape)
        hidden = F.gelu(self.both(torch.cat([rows, seen, rows * seen], dim=-1))).flatten(2)
        matched = self.match(self.match.of_facts(facts).select(places), self.match.of_paths(questions))
        return self.norm(self.join(torch.cat([self.dropout(hidden), matched], dim=-1)))


class BaselineModel(PreTrainedModel):
    """Base class. A subclass builds its parts and overrides `search`.

    Token states are the encoder's, projected to `width`, after `layers` transformer layers of the baseline. The two
    sides of a dual encoder share them and have separate vectors.
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
        round_linears(self)
        self.post_init()
        self.encoder.freeze()

    def _init_weights(self, module: nn.Module) -> None:
        """Nothing: every part initializes itself."""

    @abstractmethod
    def build(self, config: BaselineConfig) -> None:
        """Create the parts that are specific to this baseline."""

    @abstractmethod
    def search(self, batch: Batch) -> list[Search]:
        """The paths found for each question of a batch; each question has a candidate."""

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
