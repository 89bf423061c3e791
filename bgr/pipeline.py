"""From a checkpoint folder to evidence graphs: what users call."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from tqdm import tqdm

from bgr.checkpoint import Settings, load_retriever, load_tokenizer
from bgr.devices import pick_device
from bgr.errors import DataError
from bgr.graph import EvidenceGraph
from bgr.models.batching import Sentences, make_batch
from bgr.models.decode import EXPLORE, decode
from bgr.models.retriever import BgrRetriever
from bgr.reconstruction import reconstruct, subgraph_confidence
from bgr.retrieval import DirectionResult, Query, RetrievalResult, Retriever

MOST_FACTS = 1_000
"""Candidates of one question; beyond that a search over the textual database comes first."""


@dataclass(frozen=True)
class DirectedGraphs:
    """What the two directions found for one question, before reconstruction."""

    forward: DirectionResult
    backward: DirectionResult

    @property
    def limits(self) -> tuple[str, ...]:
        """Decoding limits that either direction reached."""
        return tuple(sorted({*self.forward.limits, *self.backward.limits}))

    def merged(self, rule: str, gamma: float) -> RetrievalResult:
        """The graph by a reconstruction rule."""
        return RetrievalResult(reconstruct(self.forward, self.backward, rule, gamma), self.limits)


@dataclass(frozen=True)
class Answer:
    """One question, answered.

    `answer` is ``None`` while the checkpoint holds no reader; `confidence` is the BSC of the two directions, in [0, 1].
    """

    question: str
    facts: tuple[str, ...]
    graph: EvidenceGraph
    forward: EvidenceGraph
    backward: EvidenceGraph
    confidence: float
    limits: tuple[str, ...]
    answer: str | None = None

    def to_json(self) -> dict[str, Any]:
        """A plain record: edges with scores, the root as −1, and the evidence in the order of reasoning."""
        return {
            "question": self.question,
            "answer": self.answer,
            "confidence": self.confidence,
            "edges": [[a, b, round(self.graph.scores.get((a, b), 0.0), 6)] for a, b in sorted(self.graph.edges)],
            "evidence": [{"fact": n, "text": self.facts[n]} for n in self.graph.order()],
            "forward": self.forward.to_json(),
            "backward": self.backward.to_json(),
            "limits": list(self.limits),
        }


class BgrPipeline(Retriever):
    """Both directions, their tokenizer and their settings.

    Args:
        forward, backward: the two retrievers.
        tokenizer: of their encoder.
        settings: rule and γ of each rule.
        device: where the models run; the GPU if there is one.
    """

    def __init__(
        self,
        forward: BgrRetriever,
        backward: BgrRetriever,
        tokenizer: Any,
        settings: Settings,
        *,
        device: str | torch.device | None = None,
    ) -> None:
        self.device = pick_device(device)
        self.forward, self.backward = forward, backward
        for model in (forward, backward):
            torch.nn.Module.to(model, self.device).eval()
        self.tokenizer = tokenizer
        self.settings = settings

    @classmethod
    def from_pretrained(cls, folder: str | Path, *, device: str | torch.device | None = None) -> BgrPipeline:
        """Load a checkpoint folder, without Lightning and without the network.

        Raises:
            CheckpointError: a file is missing, damaged, or does not fit the others.
        """
        folder = Path(folder)
        settings = Settings.load(folder)
        return cls(
            load_retriever(folder, "forward"),
            load_retriever(folder, "backward"),
            load_tokenizer(folder),
            settings,
            device=device,
        )

    def retrieve_directions(
        self, queries: Sequence[Query], *, batch_size: int = 16, progress: bool = False
    ) -> list[DirectedGraphs]:
        """Run both directions; merging them is left to the caller, who may want several rules.

        Raises:
            DataError: a query has no fact, more than `MOST_FACTS`, or no question.
        """
        _check(queries)
        found = {
            name: _walk(model, self.tokenizer, queries, batch_size, f"{name} retrieval" if progress else None)
            for name, model in (("forward", self.forward), ("backward", self.backward))
        }
        return [DirectedGraphs(f, b) for f, b in zip(found["forward"], found["backward"], strict=True)]

    def retrieve(self, queries: Sequence[Query]) -> list[RetrievalResult]:
        """The merged graph of each query, by the checkpoint's rule and its γ."""
        rule = self.settings.rule
        return [found.merged(rule, self.settings.gamma(rule)) for found in self.retrieve_directions(queries)]

    def answer(self, question: str, facts: Sequence[str]) -> Answer:
        """Retrieve the evidence graph of one question."""
        found = self.retrieve_directions([Query(question, facts)])[0]
        forward, backward = found.forward.graph, found.backward.graph
        return Answer(
            question=question,
            facts=tuple(facts),
            graph=found.merged(self.settings.rule, self.settings.gamma(self.settings.rule)).graph,
            forward=forward,
            backward=backward,
            confidence=subgraph_confidence(forward, backward),
            limits=found.limits,
        )


def _check(queries: Sequence[Query]) -> None:
    for number, query in enumerate(queries):
        if not query.question.strip():
            raise DataError(f"query {number}: the question is empty")
        if not query.facts:
            raise DataError(f"query {number}: there are no facts")
        if len(query.facts) > MOST_FACTS:
            raise DataError(f"query {number}: {len(query.facts)} facts, allowed: {MOST_FACTS}")


@torch.inference_mode()
def _walk(
    model: BgrRetriever, tokenizer: Any, queries: Sequence[Query], batch_size: int, progress: str | None
) -> list[DirectionResult]:
    """One direction over all queries. A sentence that questions of a batch share is encoded once."""
    config = model.config
    questions = Sentences((q.question for q in queries), tokenizer, most_tokens=config.question_tokens)
    facts = Sentences((fact for q in queries for fact in q.facts), tokenizer, most_tokens=config.fact_tokens)
    device = next(model.parameters()).device
    results = []
    starts = range(0, len(queries), batch_size)
    for start in tqdm(starts, desc=progress, disable=progress is None, unit="batch"):
        part = [(q.question, q.facts) for q in queries[start : start + batch_size]]
        batch = make_batch(questions, facts, part).to(device)
        results += decode(model, model.read(batch.questions, batch.facts, batch.candidates), explore=EXPLORE)
    return results
