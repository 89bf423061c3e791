"""GRR: a recurrent network extends paths of facts (Asai et al. 2020, arXiv:1911.10470)."""

from __future__ import annotations

from typing import Any, NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from bgr.models.batching import Batch
from bgr.retrievers.baselines.baseline_config import BaselineConfig
from bgr.retrievers.baselines.beam import PathTable, Search, beam_search
from bgr.retrievers.baselines.model import BaselineModel, FactsInQuestion, SentenceVectors


class GrrReading(NamedTuple):
    """An encoded batch: ``start [q, d]``, ``facts [q, c, d]``, ``candidates [q, c]``."""

    start: Tensor
    facts: Tensor
    candidates: Tensor


class GrrModel(BaselineModel):
    """``P(next = E_i) = σ(w_i · h_t / √d + b)`` and ``h_{t+1} = RNN(h_t, w_i)`` with a fact's vector ``w_i`` given the
    question; an end-of-evidence vector competes with the facts (their section 3.1). The network is a GRU that starts
    from the question's vector. Beam search; the probability of a path is the product of its steps'.
    """

    def build(self, config: BaselineConfig) -> None:
        sizes: dict[str, Any] = {"width": config.width, "heads": config.heads, "dropout": config.dropout}
        self.question = SentenceVectors(**sizes, rows=config.rows)
        self.facts = FactsInQuestion(**sizes, rows=config.rows)
        self.walk = nn.GRU(config.width, config.width, batch_first=True)
        self.state = nn.Linear(config.width, config.width)
        self.end = nn.Parameter(torch.randn(config.width))
        self.bias = nn.Parameter(torch.zeros(()))

    def encode_batch(self, batch: Batch) -> GrrReading:
        questions, facts = self.token_states(batch)
        vectors = self.facts(questions, facts, batch.candidates)
        return GrrReading(self.question(questions), vectors, batch.candidates)

    def logits(self, reading: GrrReading, paths: PathTable) -> Tensor:
        """Logits of each path's next step, its end in column 0; −inf where not allowed. *Shape:* ``[p, 1 + c]``."""
        state = self.state(self.states(reading, paths))
        # [p, c, d] · [p, d]
        facts = torch.einsum("pcd,pd->pc", reading.facts[paths.question].to(state.dtype), state)
        end = state @ self.end.to(state.dtype)
        logits = torch.cat([end[:, None], facts], dim=1).float() * self.config.width**-0.5 + self.bias
        return logits.masked_fill(~paths.open(reading.candidates), float("-inf"))

    def states(self, reading: GrrReading, paths: PathTable) -> Tensor:
        """``[p, d]`` the network's state at the end of each path."""
        start = reading.start[paths.question].float()
        if not paths.facts.shape[1]:
            return start
        steps = reading.facts[paths.question[:, None], paths.facts.clamp(min=0)].float()
        with torch.autocast(start.device.type, enabled=False):  # recurrent networks need one type throughout
            after, _ = self.walk(steps, start[None])
        # [p, 1 + h, d]: the state after each number of facts
        every = torch.cat([start[:, None], after], dim=1)
        return every[torch.arange(len(every), device=every.device), paths.lengths]

    @torch.inference_mode()
    def search(self, batch: Batch) -> list[Search]:
        reading = self.encode_batch(batch)
        return beam_search(
            lambda paths: F.logsigmoid(self.logits(reading, paths)),
            len(batch.candidates),
            beam=self.config.beam,
            max_depth=self.config.max_depth,
            device=batch.candidates.device,
        )
