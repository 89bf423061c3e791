"""One direction of bidirectional graph retrieval (paper, section 4.1) as a `transformers` model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from transformers import PreTrainedModel

from bgr.models.attention import Attention
from bgr.models.config import BgrConfig
from bgr.models.context import Completeness, Context
from bgr.models.encoder import Projection, SentenceStates
from bgr.models.linear import round_linears
from bgr.models.matcher import FactRows, Matcher, Prepared
from bgr.models.numbers import NumberMarks
from bgr.models.pruner import Pruner
from bgr.models.ragged import EncodedRows, Ragged, Rows, take
from bgr.models.token_match import Layout, Links, TokenMarks, TokenMatch
from bgr.utils.devices import for_matrices

ROOT_COLUMN = 0
"""Column of the question itself; candidate fact ``i`` is in column ``i + 1``."""


@dataclass(frozen=True)
class EncodedBatch:
    """An encoded batch of questions and facts: all features that do not depend on a path.

    ``f`` counts the candidates of each question in turn.

    Args:
        question_states, question_mask: ``[q, t, d]``, ``[q, t]``.
        fact_states, fact_mask: ``[f, m, d]``, ``[f, m]``, the inputs of path updates: a fact's rows in context, or its
            tokens if there are no context layers.
        matching: features for the matcher of ``f + q`` sentences: the facts, then the questions (for the root).
        relevance: ``[f]`` logit that a candidate is evidence, at any position of the graph.
        links: ``[q, 1 + c, 1 + c, e]`` features of every ordered pair of sentences.
        completeness: ``[q]`` logit that the evidence is complete.
        columns: ``[q, 1 + c]`` index into ``matching`` of the sentence in each column of a question, padded with −1.
    """

    question_states: Tensor
    question_mask: Tensor
    fact_states: Tensor
    fact_mask: Tensor
    matching: Prepared
    relevance: Tensor | None
    links: Tensor | None
    completeness: Tensor | None
    columns: Tensor


@dataclass(frozen=True)
class Paths:
    """All paths of one level, of all questions of the batch.

    Args:
        states: ``[p, t, d]``.
        question: ``[p]`` index of the question that each path belongs to.
        last: ``[p]`` column of the fact that each path has reached, 0 at its start.
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
        self.project = Projection(config.encoder.hidden_size, config.width, words=config.words)
        self.match_tokens = TokenMatch() if config.links else None
        self.marks = TokenMarks(width=config.width) if config.links else None
        self.links = Links(width=config.width, weightings=config.links) if config.links else None
        self.numbers = NumberMarks(width=config.width) if config.numbers else None
        self.kind = nn.Parameter(torch.randn(2, config.width) * 0.02) if config.context_layers else None
        features = self.links.features if self.links else 0
        layers = config.context_layers
        self.context = Context(layers=layers, links=features, **size) if layers else None
        self.update = PathUpdate(**size)
        self.fact_rows = FactRows(rows=config.rows, **size)
        self.relevance = nn.Linear(config.rows * config.width, 1) if config.relevance else None
        self.completeness = Completeness(width=config.width) if config.completeness else None
        self.matcher = Matcher(rows=config.rows, features=features + int(config.relevance), **size)
        self.pruner = Pruner(embedding=config.encoder.hidden_size) if config.prune else None
        round_linears(self)
        self.post_init()
        self.encoder.freeze()

    def _init_weights(self, module: nn.Module) -> None:
        """Do nothing: every part initializes itself in its constructor."""

    @property
    def words(self) -> Tensor:
        """The encoder's word embeddings ``[v, w]``."""
        return self.encoder.bert.embeddings.word_embeddings.weight

    def encode_batch(self, questions: Rows, facts: Rows, candidates: Tensor) -> EncodedBatch:
        """Encode a batch.

        *Shape:* ``questions.flat [total]`` token ids, or ``[total, d]`` cached states from ``encoder.lower`` or, as
        `EncodedRows`, from `encode`; ``facts`` likewise, each distinct fact once; ``candidates [q, c]`` each question's
        facts as indices into ``facts``, padded with −1.
        """
        asked, shared = self._encode_both(questions, facts)
        layout = Layout.of(candidates)
        count = len(asked)
        # from here on, a fact that two questions share is two facts, each in the context of its question
        told = shared.select(candidates[candidates >= 0])
        sentences = Rows.cat([asked, told])
        links = None
        states = sentences.flat
        if self.match_tokens is not None and self.links is not None and self.marks is not None:
            matches = self.match_tokens(sentences, layout)
            links = self.links(sentences, matches, layout)
            states = states + self.marks(matches, sentences.lengths, layout)
        if self.numbers is not None:
            states = states + torch.cat(self.numbers(asked, told, layout.question[count:]))
        if self.kind is not None:
            states = states + self.kind[(layout.column > 0).long()].repeat_interleave(sentences.lengths, 0)
        # all further uses are matrix products: convert once instead of at each of them
        states = for_matrices(states)
        split = len(asked.flat)
        question_rows, fact_rows = Ragged(states[:split], asked.lengths), Ragged(states[split:], told.lengths)
        question_states, question_mask = question_rows.padded(), question_rows.mask()
        fact_states, fact_mask = fact_rows.padded(), fact_rows.mask()
        rows = self.fact_rows(fact_states, fact_mask)
        roots = self.fact_rows(question_states, question_mask)
        if self.context is not None:
            question_states, rows = self.context(question_states, question_mask, rows, links, layout)
            fact_states, fact_mask = rows, torch.ones(rows.shape[:2], dtype=torch.bool, device=rows.device)
        relevance = None if self.relevance is None else self.relevance(rows.flatten(1)).squeeze(-1)
        completeness = None
        if self.completeness is not None and relevance is not None:
            completeness = self.completeness(question_states, question_mask, rows, relevance, layout)
        columns = torch.full_like(candidates, -1)
        columns[candidates >= 0] = torch.arange(len(rows), device=candidates.device)
        root = len(rows) + torch.arange(count, device=candidates.device)
        return EncodedBatch(
            question_states=question_states,
            question_mask=question_mask,
            fact_states=fact_states,
            fact_mask=fact_mask,
            matching=self.matcher.prepare(torch.cat([rows, roots])),
            relevance=relevance,
            links=links,
            completeness=completeness,
            columns=torch.cat([root[:, None], columns], dim=1),
        )

    def _encode_both(self, questions: Rows, facts: Rows) -> tuple[Rows, Rows]:
        cached = isinstance(questions, EncodedRows) or isinstance(facts, EncodedRows)
        if cached or questions.flat.dtype != facts.flat.dtype:
            return self.encode(questions), self.encode(facts)
        # together: the gradients of the embedding tables are as large for few sentences as for many
        both = self.encode(Rows.cat([questions, facts]))
        numbers = torch.arange(len(both), device=both.lengths.device)
        return both.select(numbers[: len(questions)]), both.select(numbers[len(questions) :])

    def encode(self, rows: Rows) -> EncodedRows:
        """Encode each sentence alone. After training, the result may be cached for facts that stay the same.

        *Shape:* token ids ``[total]`` or states ``[total, d]`` as in `encode_batch` → ``[total, width]``.
        """
        if isinstance(rows, EncodedRows):
            return replace(rows, flat=for_matrices(rows.flat.to(self.dtype)))
        # states are those of the frozen layers
        is_ids = not rows.flat.is_floating_point()
        states = self.encoder(rows) if is_ids else self.encoder.upper(rows.to(dtype=self.dtype))
        return EncodedRows(self.project(states.flat, rows.ids, self.words), rows.lengths, rows.ids, rows.numbers)

    def prune(self, questions: Rows, facts: Rows, candidates: Tensor) -> Tensor:
        """Logits of all candidates in each round of the pruner, from token ids alone; the last round decides.

        *Shape:* as in `encode_batch` → ``[rounds, q, c]``, −inf at padding.
        """
        assert self.pruner is not None, "config.prune is 0"
        found: Tensor = self.pruner(self.words, questions, facts, candidates)
        return found

    def start(self, encoded: EncodedBatch) -> Paths:
        """One empty path for each question. The root is not a candidate for the first step."""
        is_open = encoded.columns >= 0
        is_open[:, ROOT_COLUMN] = False
        question = torch.arange(len(is_open), device=is_open.device)
        return Paths(encoded.question_states, question, torch.zeros_like(question), is_open)

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
        return Paths(states, question, columns, is_open)

    def match(self, encoded: EncodedBatch, paths: Paths) -> Tensor:
        """Logit of every column for every path, −inf for columns that are not open. *Shape:* ``[p, 1 + c]``."""
        indices = encoded.columns[paths.question].clamp(min=0)
        mask = encoded.question_mask[paths.question]
        logits = self.matcher(paths.states, mask, encoded.matching, indices, pair_features(encoded, paths))
        return logits.float().masked_fill(~paths.open, float("-inf"))


def pair_features(encoded: EncodedBatch, paths: Paths) -> list[Tensor]:
    """Features of every path and column, as far as the model has them: the links of the column with the last sentence
    of the path ``[p, 1 + c, e]``, and its relevance ``[p, 1 + c, 1]``, 0 for the root."""
    features = []
    if encoded.links is not None:
        features.append(encoded.links[paths.question, paths.last])
    if encoded.relevance is not None:
        facts = encoded.columns[paths.question, 1:].clamp(min=0)
        features.append(F.pad(encoded.relevance[facts], (1, 0))[..., None])
    return features
