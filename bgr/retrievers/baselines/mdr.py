"""MDR: the question is read again with the facts found so far (Xiong et al. 2021, arXiv:2009.12756)."""

from __future__ import annotations

from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from bgr.models.batching import Batch
from bgr.models.ragged import Ragged
from bgr.retrievers.baselines.baseline_config import BaselineConfig
from bgr.retrievers.baselines.beam import PathTable, Search, beam_search
from bgr.retrievers.baselines.model import BaselineModel, SentenceVectors, TokenLayers


class MdrReading(NamedTuple):
    """An encoded batch: tokens of its ``q`` questions and then of its ``f`` facts; ``facts [f, d]``;
    ``candidates [q, c]``."""

    tokens: Ragged
    facts: Tensor
    candidates: Tensor


class MdrModel(BaselineModel):
    """``P(next = E_i) = softmax(q_t · v_i / √d)`` with ``q_t`` encoded from the question and the facts of the path so
    far, one text after the other (their section 2.2). An end vector competes with the facts, since questions differ in
    their number of hops; theirs have two. Beam search.
    """

    def build(self, config: BaselineConfig) -> None:
        sizes: dict[str, Any] = {"width": config.width, "heads": config.heads, "dropout": config.dropout}
        self.kind = nn.Embedding(2, config.width)
        self.context = TokenLayers(**sizes, layers=config.context_layers)
        self.query = SentenceVectors(**sizes, rows=config.rows)
        self.fact = SentenceVectors(**sizes, rows=config.rows)
        self.fact.load_state_dict(self.query.state_dict())  # as the paper's two sides start from one encoder
        self.end = nn.Parameter(torch.randn(config.width))
        nn.init.normal_(self.kind.weight, std=0.02)

    def encode_batch(self, batch: Batch) -> MdrReading:
        questions, facts = self.token_states(batch)
        tokens = Ragged(torch.cat([questions.flat, facts.flat]), torch.cat([questions.lengths, facts.lengths]))
        return MdrReading(tokens, self.fact(facts), batch.candidates)

    def scores(self, reading: MdrReading, paths: PathTable) -> Tensor:
        """Scores of the end (column 0) and of every fact of the batch, for each path. *Shape:* ``[p, 1 + f]``."""
        queries = self.queries(reading, paths)
        keys = torch.cat([self.end[None].to(reading.facts.dtype), reading.facts])
        return (queries @ keys.T).float() * self.config.width**-0.5

    def queries(self, reading: MdrReading, paths: PathTable) -> Tensor:
        """``[p, d]`` the question read with the facts of each path."""
        candidates = reading.candidates
        facts = candidates[paths.question[:, None], paths.facts.clamp(min=0)]
        # [p, 1 + h] rows of `tokens`: the question, then its path's facts
        rows = torch.cat([paths.question[:, None], len(candidates) + facts], dim=1)
        there = torch.cat([torch.ones_like(rows[:, :1], dtype=torch.bool), paths.facts >= 0], dim=1)
        joined = reading.tokens.select(rows[there])
        owner = there.nonzero()[:, 0]
        lengths = torch.zeros_like(paths.question).index_add_(0, owner, joined.lengths)
        is_fact = (rows[there] >= len(candidates)).repeat_interleave(joined.lengths)
        return self.query(self.context(Ragged(joined.flat + self.kind(is_fact.long()), lengths)))

    def logits(self, reading: MdrReading, paths: PathTable) -> Tensor:
        """Logits of each path's next step, its end in column 0; −inf where not allowed. *Shape:* ``[p, 1 + c]``."""
        own = reading.candidates[paths.question].clamp(min=0) + 1
        columns = torch.cat([torch.zeros_like(own[:, :1]), own], dim=1)
        logits = self.scores(reading, paths).gather(1, columns)
        return logits.masked_fill(~paths.open(reading.candidates), float("-inf"))

    @torch.inference_mode()
    def search(self, batch: Batch) -> list[Search]:
        reading = self.encode_batch(batch)
        return beam_search(
            lambda paths: self.logits(reading, paths).log_softmax(1),
            len(batch.candidates),
            beam=self.config.beam,
            max_depth=self.config.max_depth,
            device=batch.candidates.device,
        )
