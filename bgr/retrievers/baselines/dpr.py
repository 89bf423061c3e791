"""DPR: a question's vector against each fact's (Karpukhin et al. 2020, arXiv:2004.04906)."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from bgr.models.batching import Batch
from bgr.retrievers.baselines.baseline_config import BaselineConfig
from bgr.retrievers.baselines.beam import FoundPath, Search
from bgr.retrievers.baselines.model import BaselineModel, SentenceVectors


class DprModel(BaselineModel):
    """A dual encoder: ``s(Q, E) = v_Q · v_E / √d``. It ranks; `TopFacts` decides the number of facts."""

    def build(self, config: BaselineConfig) -> None:
        sizes: dict[str, Any] = {"width": config.width, "heads": config.heads, "dropout": config.dropout}
        self.question = SentenceVectors(**sizes, rows=config.rows)
        self.fact = SentenceVectors(**sizes, rows=config.rows)
        # both sides start alike, as the paper's do from one BERT
        self.fact.load_state_dict(self.question.state_dict())

    def scores(self, batch: Batch) -> Tensor:
        """Every question against every fact of the batch. *Shape:* ``[q, f]``."""
        questions, facts = self.token_states(batch)
        return (self.question(questions) @ self.fact(facts).T).float() * self.config.width**-0.5

    @torch.inference_mode()
    def search(self, batch: Batch) -> list[Search]:
        own = self.scores(batch).gather(1, batch.candidates.clamp(min=0))
        own = own.masked_fill(batch.candidates < 0, float("-inf"))
        ranked = own.sort(dim=1, descending=True, stable=True)
        counts = (batch.candidates >= 0).sum(1).tolist()
        rows = zip(ranked.indices.tolist(), ranked.values.tolist(), counts, strict=True)
        return [
            Search(tuple(FoundPath((place,), score) for place, score in zip(places[:n], scores[:n], strict=True)))
            for places, scores, n in rows
        ]
