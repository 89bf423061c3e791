"""One direction of bidirectional graph retrieval (paper, section 4.1) as a `transformers` model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from transformers import PreTrainedModel

from bgr.models.attention import Attention
from bgr.models.config import BgrConfig
from bgr.models.context import Context
from bgr.models.encoder import SentenceStates
from bgr.models.late_interaction import LateInteraction, Tokens
from bgr.models.matcher import FactRows, Matcher, Prepared
from bgr.models.ragged import EncodedRows, Ragged, take
from bgr.utils.devices import for_matrices

ROOT_COLUMN = 0
"""Column of the question itself; candidate fact ``i`` is in column ``i + 1``."""


class SentenceTokens(NamedTuple):
    """Projected tokens of questions and facts for the comparison with one thing: a path, or its last fact."""

    questions: Tokens
    facts: Tokens


@dataclass(frozen=True)
class EncodedBatch:
    """An encoded batch of questions and facts: all features that do not depend on a path.

    ``f`` counts the candidates of each question in turn.

    Args:
        question_states, question_mask: ``[q, t, d]``, ``[q, t]``.
        fact_states, fact_mask: ``[f, t_f, d]``, ``[f, t_f]``, the inputs of path updates.
        matching: features for the matcher of ``f + q`` sentences: the facts, then the questions (for the root).
        relevance: ``[f]`` logit that a candidate is evidence, at any position of the graph.
        to_path, to_last: projected tokens of all sentences for `LateInteraction`.
        last: projected tokens of facts as the last fact of a path.
        columns: ``[q, 1 + c]`` index into ``matching`` of the sentence in each column of a question, padded with −1.
    """

    question_states: Tensor
    question_mask: Tensor
    fact_states: Tensor
    fact_mask: Tensor
    matching: Prepared
    relevance: Tensor
    to_path: SentenceTokens
    to_last: SentenceTokens
    last: Tokens
    columns: Tensor


@dataclass(frozen=True)
class Paths:
    """All paths of one level, of all questions of the batch.

    Args:
        states: ``[p, t, d]``.
        question: ``[p]`` index of the question that each path belongs to.
        last: ``[p]`` index of the fact that each path has reached, −1 at its start.
        open: ``[p, 1 + c]`` bool, true for the columns to which the path may be extended.
    """

    states: Tensor
    question: Tensor
    last: Tensor
    open: Tensor

    @classmethod
    def joined(cls, levels: Sequence[Paths]) -> Paths:
        """Concatenate the paths of several levels."""
        return cls(*(torch.cat([getattr(level, f.name) for level in levels]) for f in fields(cls)))


class PathUpdate(nn.Module):
    """New path state from the old one and a fact: self-attention, attention to the fact, feed-forward, gate.

    A path's state is ``[t, d]``. It starts as the token states of the question, and every fact on the path updates it.
    ``H' = LN(H + g ⊙ u)`` with ``u`` the attended state and the gate ``g = σ(W_g [H; u])``.
    """

    def __init__(self, *, width: int, heads: int, dropout: float) -> None:
        super().__init__()
        self.own = Attention(width=width, heads=heads)
        self.fact = Attention(width=width, heads=heads)
        self.feed = nn.Sequential(nn.Linear(width, 2 * width), nn.GELU(), nn.Linear(2 * width, width))
        self.gate = nn.Linear(2 * width, width)
        self.norms = nn.ModuleList(nn.LayerNorm(width) for _ in range(4))
        self.dropout = nn.Dropout(dropout)

    def forward(self, paths: Tensor, mask: Tensor, facts: Tensor, fact_mask: Tensor) -> Tensor:
        """*Shape:* ``paths [p, t, d]``, ``mask [p, t]``, and of the fact that each path has reached
        ``facts [p, t_f, d]``, ``fact_mask [p, t_f]`` → ``[p, t, d]``."""
        state = self.norms[0](paths + self.dropout(self.own(paths, paths, mask)))
        state = self.norms[1](state + self.dropout(self.fact(state, facts, fact_mask)))
        state = self.norms[2](state + self.dropout(self.feed(state)))
        gate = self.gate(torch.cat([paths, state], dim=-1)).sigmoid()
        return self.norms[3](paths + gate * state)


class BgrRetriever(PreTrainedModel):
    """One direction of the retriever, which extends paths through the evidence graph level by level.

    In the forward direction, the first step of a path goes to the successors of the question, and later steps go to the
    successors of its last fact. In the backward direction, the first step goes to the leaves of the graph, and later
    steps go to predecessors, which may be the question (column 0).
    """

    config_class = BgrConfig
    config: BgrConfig
    base_model_prefix = "retriever"
    _no_split_modules = ["BertLayer"]  # noqa: RUF012

    def __init__(self, config: BgrConfig) -> None:
        super().__init__(config)
        size: dict[str, Any] = {"width": config.width, "heads": config.heads, "dropout": config.dropout}
        self.encoder = SentenceStates(config.encoder, frozen_layers=config.frozen_layers)
        self.project = _projection(config.encoder.hidden_size, config.width)
        self.context = Context(layers=config.context_layers, **size) if config.context_layers else None
        self.update = PathUpdate(**size)
        self.fact_rows = FactRows(rows=config.rows, **size)
        self.relevance = nn.Linear(config.rows * config.width, 1)
        self.to_path = LateInteraction(width=config.width)
        self.to_last = LateInteraction(width=config.width)
        features = self.to_path.features + self.to_last.features + 1
        self.matcher = Matcher(rows=config.rows, features=features, **size)
        self.post_init()
        self.encoder.freeze()

    def _init_weights(self, module: nn.Module) -> None:
        """Do nothing: every part initializes itself in its constructor."""

    def encode_batch(self, questions: Ragged, facts: Ragged, candidates: Tensor) -> EncodedBatch:
        """Encode a batch.

        *Shape:* ``questions.flat [total]`` token ids, or ``[total, d]`` cached states from ``encoder.lower`` or, as
        `EncodedRows`, from `encode`; ``facts`` likewise, each distinct fact once; ``candidates [q, c]`` each question's
        facts as indices into ``facts``, padded with −1.
        """
        # from here on, a fact that two questions share is two facts, each in the context of its question
        question_rows, shared = self._encode_both(questions, facts)
        is_fact = candidates >= 0
        fact_rows = shared.select(candidates[is_fact])
        if self.context is not None:
            question_rows, fact_rows = self.context(question_rows, fact_rows, is_fact.sum(1))
        # all further uses are matrix products: convert once instead of at each of them
        fact_rows = replace(fact_rows, flat=for_matrices(fact_rows.flat))
        columns = torch.full_like(candidates, -1)
        columns[is_fact] = torch.arange(len(fact_rows), device=candidates.device)
        question_states, question_mask = question_rows.padded(), question_rows.mask()
        fact_states, fact_mask = fact_rows.padded(), fact_rows.mask()
        rows = [self.fact_rows(fact_states, fact_mask), self.fact_rows(question_states, question_mask)]
        root = len(fact_rows) + torch.arange(len(questions), device=candidates.device)
        return EncodedBatch(
            question_states=question_states,
            question_mask=question_mask,
            fact_states=fact_states,
            fact_mask=fact_mask,
            matching=self.matcher.prepare(torch.cat(rows)),
            relevance=self.relevance(rows[0].flatten(1)).squeeze(-1),
            to_path=SentenceTokens(self.to_path.of_facts(question_rows), self.to_path.of_facts(fact_rows)),
            to_last=SentenceTokens(self.to_last.of_facts(question_rows), self.to_last.of_facts(fact_rows)),
            last=self.to_last.of_paths(fact_rows),
            columns=torch.cat([root[:, None], columns], dim=1),
        )

    def _encode_both(self, questions: Ragged, facts: Ragged) -> tuple[Ragged, Ragged]:
        cached = isinstance(questions, EncodedRows) or isinstance(facts, EncodedRows)
        if cached or questions.flat.dtype != facts.flat.dtype:
            return self.encode(questions), self.encode(facts)
        # together: the gradients of the embedding tables are as large for few sentences as for many
        lengths = torch.cat([questions.lengths, facts.lengths])
        states = self.encode(Ragged(torch.cat([questions.flat, facts.flat]), lengths)).flat
        split = len(questions.flat)
        return Ragged(states[:split], questions.lengths), Ragged(states[split:], facts.lengths)

    def encode(self, rows: Ragged) -> EncodedRows:
        """Encode each sentence alone. After training, the result may be cached for facts that stay the same.

        *Shape:* token ids ``[total]`` or states ``[total, d]`` as in `encode_batch` → ``[total, width]``.
        """
        if isinstance(rows, EncodedRows):
            return replace(rows, flat=for_matrices(rows.flat.to(self.dtype)))
        if rows.flat.is_floating_point():
            states = self.encoder.upper(Ragged(rows.flat.to(self.dtype), rows.lengths))
        else:
            states = self.encoder(rows)
        return EncodedRows(self.project(states.flat), states.lengths)

    def start(self, encoded: EncodedBatch) -> Paths:
        """One empty path for each question. The root is not a candidate for the first step."""
        is_open = encoded.columns >= 0
        is_open[:, ROOT_COLUMN] = False
        question = torch.arange(len(is_open), device=is_open.device)
        return Paths(encoded.question_states, question, torch.full_like(question, -1), is_open)

    def extend(self, encoded: EncodedBatch, paths: Paths, parents: Tensor, columns: Tensor) -> Paths:
        """The paths of the next level.

        *Shape:* ``parents [p']`` index of the path that each new path extends, ``columns [p']`` column of the new fact.
        """
        question = paths.question[parents]
        fact = encoded.columns[question, columns]
        states = self.update(
            take(paths.states, parents),
            encoded.question_mask[question],
            take(encoded.fact_states, fact),
            encoded.fact_mask[fact],
        )
        # a path contains no fact twice
        is_open = paths.open[parents].clone()
        is_open[torch.arange(len(columns), device=columns.device), columns] = False
        is_open[:, ROOT_COLUMN] = self.config.direction == "backward"
        return Paths(states, question, fact, is_open)

    def match(self, encoded: EncodedBatch, paths: Paths) -> Tensor:
        """Logit of every column for every path, −inf for columns that are not open. *Shape:* ``[p, 1 + c]``."""
        indices = encoded.columns[paths.question].clamp(min=0)
        mask = encoded.question_mask[paths.question]
        features = self.token_features(encoded, paths, mask, indices[:, 1:])
        logits = self.matcher(paths.states, mask, encoded.matching, indices, features)
        return logits.float().masked_fill(~paths.open, float("-inf"))

    def token_features(self, encoded: EncodedBatch, paths: Paths, mask: Tensor, facts: Tensor) -> Tensor:
        """Late interaction of every column with the path and with its last fact, and the column's relevance (0 for the
        root). *Shape:* ``[p, 1 + c, e]``."""
        question = paths.question[:, None]

        def compare(interaction: LateInteraction, to: SentenceTokens, rows: Tensor | slice, other: Tokens) -> Tensor:
            # the column of the root contains the question
            columns = to.questions.select(question[rows]), to.facts.select(facts[rows])
            return torch.cat([interaction(column, other) for column in columns], 1)

        path = self.to_path.of_paths(Ragged(paths.states[mask], mask.sum(1)))
        with_path = compare(self.to_path, encoded.to_path, slice(None), path)
        # an empty path has no last fact
        has_last = paths.last >= 0
        with_last = with_path.new_zeros(*with_path.shape[:2], self.to_last.features)
        if has_last.any():
            found = compare(self.to_last, encoded.to_last, has_last, encoded.last.select(paths.last[has_last]))
            with_last = with_last.index_put((has_last,), found)
        relevance = F.pad(encoded.relevance[facts], (1, 0))[..., None]
        return torch.cat([with_path, with_last, relevance], dim=-1)


def _projection(encoder_width: int, width: int) -> nn.Module:
    if width == encoder_width:
        return nn.Identity()
    project = nn.Linear(encoder_width, width)
    # a random rotation nearly preserves the angles between token states, so equal words are similar from the start
    nn.init.orthogonal_(project.weight)
    return nn.Sequential(project, nn.LayerNorm(width))
