"""A trained baseline as a retriever."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import nn

from bgr.baselines.beam import Search
from bgr.baselines.keep import Keep
from bgr.baselines.model import BaselineModel
from bgr.baselines.paths import graph_of
from bgr.devices import autocast, pick_device, pick_precision
from bgr.models.batching import Sentences, make_batch
from bgr.retrieval import Query, RetrievalResult, Retriever

GROUP = 128
"""Questions whose sentences are read, and kept in memory, together."""


class TrainedBaseline(Retriever):
    """Searches with a model and makes graphs of what `keep` keeps.

    Args:
        model: DPR, GRR, MDR or SSG.
        tokenizer: of its encoder.
        keep: which of the found paths become the graph.
        device: where the model runs; the GPU if there is one.
        precision: ``"32"`` or ``"bf16"``; bfloat16 where the device is fast at it.

    Raises:
        ValueError: another precision.
    """

    def __init__(
        self,
        model: BaselineModel,
        tokenizer: Any,
        keep: Keep,
        *,
        device: str | torch.device | None = None,
        precision: str | None = None,
    ) -> None:
        self.device = pick_device(device)
        self.precision = pick_precision(self.device, precision)
        nn.Module.to(model, self.device).eval()
        self.model = model
        self.tokenizer = tokenizer
        self.keep = keep

    @property
    def parameters(self) -> int:
        """Weights, those of the encoder among them."""
        return sum(p.numel() for p in self.model.parameters())

    def keeping(self, keep: Keep) -> TrainedBaseline:
        """The same model with another choice of paths."""
        return TrainedBaseline(self.model, self.tokenizer, keep, device=self.device, precision=self.precision)

    def retrieve(self, queries: Sequence[Query]) -> list[RetrievalResult]:
        return [result_of(found, query, self.keep) for found, query in zip(self.search(queries), queries, strict=True)]

    def search(self, queries: Sequence[Query], *, batch_size: int = 32) -> list[Search]:
        """All paths that the model finds for each query, in order; none where a query has no facts."""
        found = [Search(()) for _ in queries]
        asked = [number for number, query in enumerate(queries) if query.facts]
        for start in range(0, len(asked), GROUP):
            group = asked[start : start + GROUP]
            with autocast(self.device, self.precision):
                results = self._search_group([queries[number] for number in group], batch_size)
            for number, result in zip(group, results, strict=True):
                found[number] = result
        return found

    @torch.inference_mode()
    def _search_group(self, queries: Sequence[Query], batch_size: int) -> list[Search]:
        config, encoder = self.model.config, self.model.encoder
        questions = Sentences((q.question for q in queries), self.tokenizer, most_tokens=config.question_tokens)
        facts = Sentences((f for q in queries for f in q.facts), self.tokenizer, most_tokens=config.fact_tokens)
        for sentences in (questions, facts):
            sentences.rows = encoder.lower(sentences.rows.to(self.device)).to("cpu")
        found = []
        for start in range(0, len(queries), batch_size):
            part = [(q.question, q.facts) for q in queries[start : start + batch_size]]
            found += self.model.search(make_batch(questions, facts, part).to(self.device))
        return found


def result_of(found: Search, query: Query, keep: Keep) -> RetrievalResult:
    """The graph of the paths that are kept; ``cycle`` among its limits where an edge was left out to keep it acyclic.

    Raises:
        BgrError: see `bgr.baselines.keep`.
    """
    graph, dropped = graph_of(keep(found.paths, query))
    return RetrievalResult(graph, (*found.limits, *(("cycle",) if dropped else ())))
