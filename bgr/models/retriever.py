"""One direction of bidirectional graph retrieval (paper, section 4.1) as a `transformers` model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from transformers import PreTrainedModel

from bgr.models.config import BgrConfig
from bgr.models.context import Context
from bgr.models.encoder import SentenceStates
from bgr.models.late_interaction import TokenMatch, Tokens
from bgr.models.matcher import FactRows, Matcher, Prepared
from bgr.models.path import PathUpdate
from bgr.models.ragged import Encoded, Ragged, take
from bgr.utils.devices import for_matrices

ROOT_COLUMN = 0
"""Column of the question itself among a question's candidates; candidate fact ``i`` stands in column ``i + 1``."""


@dataclass(frozen=True)
class SentenceTokens:
    """Projected tokens of facts and questions, as candidates to be compared with a path and with its last fact."""

    facts_to_path: Tokens
    questions_to_path: Tokens
    facts_to_last: Tokens
    questions_to_last: Tokens
    last: Tokens


@dataclass(frozen=True)
class Reading:
    """A batch of questions and facts, encoded: all that paths need and no path changes.

    ``f`` counts every question's candidates in turn.

    Args:
        question_states: ``[q, t, d]``.
        question_mask: ``[q, t]``.
        fact_states, fact_mask: ``[f, t_f, d]``, ``[f, t_f]``, what path updates read.
        matching: what the matcher needs of ``f + q`` sentences: the facts, then the questions (the root's place).
        relevance: ``[f]`` logit that a candidate is evidence at all, wherever it stands in the graph.
        tokens: for `TokenMatch`, by what they are compared with (the path, its last fact) and what they are of.
        columns: ``[q, 1 + c]`` for each question the sentence of ``matching`` in each column; −1 where there is none.
    """

    question_states: Tensor
    question_mask: Tensor
    fact_states: Tensor
    fact_mask: Tensor
    matching: Prepared
    relevance: Tensor
    tokens: SentenceTokens
    columns: Tensor


@dataclass(frozen=True)
class Paths:
    """All paths of one level, of all questions of the batch.

    Args:
        states: ``[p, t, d]``.
        question: ``[p]`` which question each path belongs to.
        last: ``[p]`` number of the fact each path has reached, −1 at its start.
        open: ``[p, 1 + c]`` bool, the columns the path may still go to.
    """

    states: Tensor
    question: Tensor
    last: Tensor
    open: Tensor

    @classmethod
    def joined(cls, levels: Sequence[Paths]) -> Paths:
        """The paths of several levels, one level after the other."""
        return cls(*(torch.cat([getattr(level, f.name) for level in levels]) for f in fields(cls)))


class BgrRetriever(PreTrainedModel):
    """Walks the evidence graph level by level from the question's token states.

    Forward, a path's first step goes to the facts that hang from the question, later steps to the successors of its
    last fact. Backward, the first step goes to the last facts, later steps to predecessors, the question (column 0)
    among them.
    """

    config_class = BgrConfig
    config: BgrConfig
    base_model_prefix = "retriever"
    _no_split_modules = ["BertLayer"]  # noqa: RUF012

    def __init__(self, config: BgrConfig) -> None:
        super().__init__(config)
        width, heads = config.width, config.heads
        self.encoder = SentenceStates(config.encoder, frozen_layers=config.frozen_layers)
        self.project = _projection(config.encoder.hidden_size, width)
        self.context = (
            Context(width=width, heads=heads, layers=config.context_layers, dropout=config.dropout)
            if config.context_layers
            else None
        )
        self.update = PathUpdate(width=width, heads=heads, dropout=config.dropout)
        self.fact_rows = FactRows(width=width, heads=heads, rows=config.rows, dropout=config.dropout)
        self.relevance = nn.Linear(config.rows * width, 1)
        self.to_path = TokenMatch(width=width)
        self.to_last = TokenMatch(width=width)
        self.matcher = Matcher(
            width=width,
            heads=heads,
            rows=config.rows,
            features=self.to_path.features + self.to_last.features + 1,
            dropout=config.dropout,
        )
        self.post_init()
        self.encoder.freeze()

    def _init_weights(self, module: nn.Module) -> None:
        """Nothing: every part initialises itself where it is built."""

    def read(self, questions: Ragged, facts: Ragged, candidates: Tensor) -> Reading:
        """Encode a batch.

        *Shape:* ``questions.flat [total]`` token ids, or ``[total, d]`` states kept from ``encoder.lower`` or, as
        `Encoded`, from `encode`; ``facts`` likewise, each different fact once; ``candidates [q, c]`` each question's
        facts as numbers into ``facts``, −1 behind the last.
        """
        # from here on a fact that two questions share is two facts, each in its question's context
        question_rows, shared = self._encode_both(questions, facts)
        is_fact = candidates >= 0
        fact_rows = shared.select(candidates[is_fact])
        if self.context is not None:
            question_rows, fact_rows = self.context(question_rows, fact_rows, is_fact.sum(1))
        # from here on facts meet nothing but matrices: once converted, they need not be at each of these
        fact_rows = replace(fact_rows, flat=for_matrices(fact_rows.flat))
        columns = torch.full_like(candidates, -1)
        columns[is_fact] = torch.arange(len(fact_rows), device=candidates.device)
        question_states, question_mask = question_rows.padded(), question_rows.mask()
        fact_states, fact_mask = fact_rows.padded(), fact_rows.mask()
        rows = [self.fact_rows(fact_states, fact_mask), self.fact_rows(question_states, question_mask)]
        root = len(fact_rows) + torch.arange(len(questions), device=candidates.device)
        return Reading(
            question_states=question_states,
            question_mask=question_mask,
            fact_states=fact_states,
            fact_mask=fact_mask,
            matching=self.matcher.prepare(torch.cat(rows)),
            relevance=self.relevance(rows[0].flatten(1)).squeeze(-1),
            tokens=SentenceTokens(
                facts_to_path=self.to_path.of_facts(fact_rows),
                questions_to_path=self.to_path.of_facts(question_rows),
                facts_to_last=self.to_last.of_facts(fact_rows),
                questions_to_last=self.to_last.of_facts(question_rows),
                last=self.to_last.of_paths(fact_rows),
            ),
            columns=torch.cat([root[:, None], columns], dim=1),
        )

    def _encode_both(self, questions: Ragged, facts: Ragged) -> tuple[Ragged, Ragged]:
        kept = isinstance(questions, Encoded) or isinstance(facts, Encoded)
        if kept or questions.flat.dtype != facts.flat.dtype:
            return self.encode(questions), self.encode(facts)
        # at once: the gradients of the encoder's tables are as large for few sentences as for many
        lengths = torch.cat([questions.lengths, facts.lengths])
        states = self.encode(Ragged(torch.cat([questions.flat, facts.flat]), lengths)).flat
        split = len(questions.flat)
        return Ragged(states[:split], questions.lengths), Ragged(states[split:], facts.lengths)

    def encode(self, rows: Ragged) -> Encoded:
        """Sentences alone, without each other: what may be kept where the facts stay the same and training is over.

        *Shape:* token ids ``[total]`` or states ``[total, d]`` as in `read` → ``[total, width]``.
        """
        if isinstance(rows, Encoded):
            return replace(rows, flat=for_matrices(rows.flat.to(self.dtype)))
        if rows.flat.is_floating_point():
            states = self.encoder.upper(Ragged(rows.flat.to(self.dtype), rows.lengths))
        else:
            states = self.encoder(rows)
        return Encoded(self.project(states.flat), states.lengths)

    def start(self, reading: Reading) -> Paths:
        """One path for each question, with nothing on it yet. The root is no candidate for a first step."""
        is_open = reading.columns >= 0
        is_open[:, ROOT_COLUMN] = False
        question = torch.arange(len(is_open), device=is_open.device)
        return Paths(reading.question_states, question, torch.full_like(question, -1), is_open)

    def extend(self, reading: Reading, paths: Paths, parents: Tensor, columns: Tensor) -> Paths:
        """The paths of the next level.

        *Shape:* ``parents [p']`` the path each new path continues, ``columns [p']`` the fact's column it goes to.
        """
        question = paths.question[parents]
        fact = reading.columns[question, columns]
        states = self.update(
            take(paths.states, parents),
            reading.question_mask[question],
            take(reading.fact_states, fact),
            reading.fact_mask[fact],
        )
        # no fact twice on one path
        is_open = paths.open[parents].clone()
        is_open[torch.arange(len(columns), device=columns.device), columns] = False
        is_open[:, ROOT_COLUMN] = self.config.direction == "backward"
        return Paths(states, question, fact, is_open)

    def match(self, reading: Reading, paths: Paths) -> Tensor:
        """Logit of every column for every path, −inf where a path may not go. *Shape:* ``[p, 1 + c]``."""
        places = reading.columns[paths.question].clamp(min=0)
        mask = reading.question_mask[paths.question]
        features = self.token_features(reading, paths, mask, places[:, 1:])
        logits = self.matcher(paths.states, mask, reading.matching, places, features)
        return logits.float().masked_fill(~paths.open, float("-inf"))

    def token_features(self, reading: Reading, paths: Paths, mask: Tensor, facts: Tensor) -> Tensor:
        """Late interaction of every column with the path and with its last fact, and its relevance (the root's is 0).
        *Shape:* ``[p, 1 + c, e]``."""
        tokens = reading.tokens
        path = self.to_path.of_paths(Ragged(paths.states[mask], mask.sum(1)))
        # the root's column holds the question itself
        question = paths.question[:, None]
        parts = [self.to_path(tokens.questions_to_path.select(question), path)]
        parts.append(self.to_path(tokens.facts_to_path.select(facts), path))
        with_path = torch.cat(parts, 1)
        # at its start a path has no last fact to compare with
        has_last = paths.last >= 0
        with_last = with_path.new_zeros(*with_path.shape[:2], self.to_last.features)
        if has_last.any():
            last = tokens.last.select(paths.last[has_last])
            parts = [self.to_last(tokens.questions_to_last.select(question[has_last]), last)]
            parts.append(self.to_last(tokens.facts_to_last.select(facts[has_last]), last))
            with_last = with_last.index_put((has_last,), torch.cat(parts, 1))
        relevance = F.pad(reading.relevance[facts], (1, 0))[..., None]
        return torch.cat([with_path, with_last, relevance], dim=-1)


def _projection(encoder_width: int, width: int) -> nn.Module:
    if width == encoder_width:
        return nn.Identity()
    project = nn.Linear(encoder_width, width)
    # a random rotation nearly keeps the angles between token states, by which equal words are known at the start
    nn.init.orthogonal_(project.weight)
    return nn.Sequential(project, nn.LayerNorm(width))
