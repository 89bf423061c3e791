"""A trained baseline as a retriever, and its folder.

::

    baseline.json                kind, k or margin chosen on dev, data hash, dev metrics
    KIND/                        config.json, model.safetensors (not for bm25 and random, which have no weights)
    tokenizer.json, …            the encoder's tokenizer
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

import torch
from torch import nn

from bgr.errors import BgrError, CheckpointError
from bgr.models.batching import Sentences, make_batch
from bgr.models.checkpoint import load_tokenizer
from bgr.models.loading import load_weights
from bgr.retrievers.base import Query, RetrievalResult, Retriever, truncated_texts
from bgr.retrievers.baselines.baseline_config import SINGLE_HOP, BaselineConfig, BaselineSettings
from bgr.retrievers.baselines.beam import Keep, Search, TopFacts, graph_of
from bgr.retrievers.baselines.dpr import DprModel
from bgr.retrievers.baselines.grr import GrrModel
from bgr.retrievers.baselines.mdr import MdrModel
from bgr.retrievers.baselines.model import BaselineModel
from bgr.retrievers.baselines.single_hop import Bm25Facts, RandomFacts
from bgr.retrievers.baselines.ssg import SsgModel
from bgr.retrievers.graph_hop.checkpoint import read_part
from bgr.utils.devices import autocast, pick_device, pick_precision
from bgr.utils.json_utils import one_line

GROUP = 128
"""Number of questions whose sentences are encoded and kept in memory together."""


class TrainedBaseline(Retriever):
    """Searches with DPR, GRR, MDR or SSG and builds graphs of the paths that `keep` selects.

    Args:
        device: device of the model; default: the GPU if there is one.
        precision: ``"32"`` or ``"bf16"``; default: bfloat16 if it is fast on the device.

    Raises:
        ValueError: an unknown precision.
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
        """Number of weights, including the encoder's."""
        return sum(p.numel() for p in self.model.parameters())

    def keeping(self, keep: Keep) -> TrainedBaseline:
        """The same model with another selection of paths."""
        return TrainedBaseline(self.model, self.tokenizer, keep, device=self.device, precision=self.precision)

    def retrieve(self, queries: Sequence[Query]) -> list[RetrievalResult]:
        return [result_of(found, query, self.keep) for found, query in zip(self.search(queries), queries, strict=True)]

    def search(self, queries: Sequence[Query], *, batch_size: int = 32) -> list[Search]:
        """All paths that the model finds for each query, in order; none for a query without facts."""
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
        questions = Sentences((q.question for q in queries), self.tokenizer, max_tokens=config.question_tokens)
        facts = Sentences((f for q in queries for f in q.facts), self.tokenizer, max_tokens=config.fact_tokens)
        for sentences in (questions, facts):
            sentences.rows = encoder.lower(sentences.rows.to(self.device)).to("cpu")
        found: list[Search] = []
        for start in range(0, len(queries), batch_size):
            part = [(q.question, q.facts) for q in queries[start : start + batch_size]]
            found += self.model.search(make_batch(questions, facts, part).to(self.device))
        return [
            replace(search, truncated=truncated_texts(query, questions.truncated, facts.truncated))
            for search, query in zip(found, queries, strict=True)
        ]


def result_of(found: Search, query: Query, keep: Keep) -> RetrievalResult:
    """The graph of the selected paths, with the limit ``cycle`` if an edge was left out to keep it acyclic.

    Raises:
        BgrError: see `TopFacts`.
    """
    graph, dropped = graph_of(keep(found.paths, query))
    limits = (*found.limits, *(("cycle",) if dropped else ()))
    return RetrievalResult(graph, limits, searched=query.facts, truncated=found.truncated)


MODELS: dict[str, type[BaselineModel]] = {"dpr": DprModel, "grr": GrrModel, "mdr": MdrModel, "ssg": SsgModel}


def load_baseline(
    folder: str | Path,
    *,
    device: str | torch.device | None = None,
    precision: str | None = None,
    k: int | Literal["gold", "dev"] = "gold",
) -> Retriever:
    """Load a baseline, without network access.

    Args:
        folder: output of `bgr train baseline`.
        device, precision: see `TrainedBaseline`.
        k: number of facts of a single-hop baseline: a number, ``gold`` for `Query.gold_count` (the paper's protocol),
            or ``dev`` for the number chosen on dev. The others stop by themselves.

    Raises:
        DataError: a file is missing or not JSON.
        CheckpointError: a file is damaged or inconsistent with the others, or it is not a baseline's folder.
        BgrError: `k` is out of range, or given for a baseline that stops by itself.
    """
    folder = Path(folder)
    settings = BaselineSettings.load(folder)
    single = settings.kind in SINGLE_HOP
    if not single and type(k) is int:
        raise BgrError(f"{folder}: {settings.kind} stops by itself and takes no k")
    chosen = settings.k if k == "dev" else None if k == "gold" else k
    keep = TopFacts(chosen) if single else settings.keep()
    if settings.kind not in MODELS:
        return untrained(settings.kind, chosen, settings.seed)
    model = load_model(folder, settings.kind)
    tokenizer = load_tokenizer(folder, model.config.encoder.vocab_size)
    baseline = TrainedBaseline(model, tokenizer, keep, device=device, precision=precision)
    try:
        baseline.search([Query("?", ["."])])
    except Exception as error:  # weights may fit a configuration that cannot be run
        raise CheckpointError(f"{folder}: the model cannot be run: {one_line(error)}") from None
    return baseline


def load_model(folder: Path, kind: str) -> BaselineModel:
    """The model in evaluation mode, in float32, every tensor checked against its configuration.

    Raises:
        CheckpointError: a file is missing or damaged, or a tensor is missing, unexpected, or of the wrong shape.
    """
    config = read_part(folder / kind, BaselineConfig, "kind")
    model: BaselineModel = load_weights(folder / kind, MODELS[kind], config)
    return model


def untrained(kind: str, k: int | None, seed: int = 0) -> Retriever:
    """``bm25`` or ``random``, with k facts or the number of gold ones."""
    return Bm25Facts(k) if kind == "bm25" else RandomFacts(k, seed=seed)


def baseline_rows(
    folder: str | Path, *, device: str | torch.device | None = None, precision: str | None = None
) -> dict[str, Retriever]:
    """A baseline's rows of a table by name; single-hop ones with k = number of gold facts, and with dev's k."""
    settings = BaselineSettings.load(Path(folder))
    retriever = load_baseline(folder, device=device, precision=precision)
    rows = {settings.kind: retriever}
    if settings.kind in SINGLE_HOP:
        shared = retriever.keeping(settings.keep()) if isinstance(retriever, TrainedBaseline) else None
        rows[f"{settings.kind}, k = {settings.k}"] = shared or untrained(settings.kind, settings.k, settings.seed)
    return rows
