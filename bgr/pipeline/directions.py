"""Both directions over groups of queries: sentences are encoded once, then each direction extends its paths."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import torch
from tqdm import tqdm

from bgr.errors import DataError
from bgr.graph.evidence_graph import EvidenceGraph
from bgr.models.batching import Sentences, make_batch
from bgr.models.retriever import BgrRetriever
from bgr.models.state_cache import cache_encoded
from bgr.retrievers.base import KEPT, Query, RetrievalResult, truncated_texts
from bgr.retrievers.graph_hop.completeness import Refusal
from bgr.retrievers.graph_hop.decode import EXPLORE, decode, kept_columns, unpruned
from bgr.retrievers.graph_hop.fusion import Fusion
from bgr.retrievers.graph_hop.likelihood import DirectionResult
from bgr.retrievers.graph_hop.options import MAX_FACTS
from bgr.retrievers.graph_hop.reconstruction import reconstruct
from bgr.utils.devices import autocast, hold_in, pick_device, pick_precision
from bgr.utils.json_utils import text_problem
from bgr.utils.ray_map import RayOptions


@dataclass(frozen=True)
class DirectedGraphs:
    """The graphs of both directions for one question, before reconstruction, the texts that one of the directions
    truncated (`RetrievalResult.truncated`), and the candidates that one of them read, ``None`` for all."""

    forward: DirectionResult
    backward: DirectionResult
    truncated: tuple[int, ...] = ()
    kept: tuple[int, ...] | None = None

    def merged(
        self, rule: str, gamma: float, *, fusion: Fusion | None = None, refusal: Refusal | None = None
    ) -> RetrievalResult:
        """The graph by a reconstruction rule (`bgr.retrievers.graph_hop.reconstruction.reconstruct`); empty if the
        evidence is refused."""
        found = reconstruct(self.forward, self.backward, rule, gamma, fusion=fusion)
        refusal = refusal or Refusal()
        completeness = refusal.completeness(self.forward, self.backward, found.graph)
        if completeness is not None and completeness < refusal.threshold:
            found = replace(found, graph=EvidenceGraph())
        details = {} if self.kept is None else {KEPT: list(self.kept)}
        return replace(found, details=details, truncated=self.truncated, completeness=completeness)


GROUP = 128
"""Number of questions whose sentences are encoded and kept in memory together."""


class Directions:
    """The two retrievers of a checkpoint on one device, before their graphs are merged.

    Args:
        forward, backward: the two retrievers; in bfloat16 they cannot be trained further (`bgr.utils.devices.hold_in`).
        tokenizer: the encoder's tokenizer.
        device: device of the models; default: the GPU if there is one.
        precision: ``"32"`` or ``"bf16"``; default: bfloat16 if it is fast on the device.

    Raises:
        ValueError: an unknown precision.
    """

    def __init__(
        self,
        forward: BgrRetriever,
        backward: BgrRetriever,
        tokenizer: Any,
        *,
        device: str | torch.device | None = None,
        precision: str | None = None,
    ) -> None:
        self.device = pick_device(device)
        self.precision = pick_precision(self.device, precision)
        self.forward, self.backward = forward, backward
        for model in (forward, backward):
            torch.nn.Module.to(model, self.device).eval()
        self.shared = read_alike(forward, backward)
        if self.shared:
            backward.encoder.share_frozen(forward.encoder)
        for model in (forward, backward):
            hold_in(model, self.precision, but=model.pruner)
        self.tokenizer = tokenizer
        self.kept: tuple[Sentences, Sentences] | None = None

    def keep_facts(
        self, facts: Iterable[str], folder: str | Path, *, progress: bool = False, ray: RayOptions | None = None
    ) -> None:
        """Encode a fixed collection of facts once for all later questions; other facts are still allowed.

        Args:
            facts: the sentences.
            folder: cache of their states in half precision (``2 · width`` bytes per token and direction), which later
                processes use too; states are read from it when needed.
            progress: show progress bars on standard error.
            ray: workers that compute the states, with the models of this process.
        """
        texts = list(dict.fromkeys(facts))
        forward, backward = (
            Sentences(texts, self.tokenizer, max_tokens=model.config.fact_tokens)
            for model in (self.forward, self.backward)
        )
        for sentences, model in ((forward, self.forward), (backward, self.backward)):
            with autocast(self.device, self.precision):
                cache_encoded(sentences, model, Path(folder), progress=progress, ray=ray)
        self.kept = (forward, backward)

    def retrieve_directions(
        self, queries: Sequence[Query], *, batch_size: int = 16, progress: bool = False
    ) -> list[DirectedGraphs]:
        """Run both directions without merging them, since the caller may want several rules.

        Raises:
            DataError: a query has no fact, more than `MAX_FACTS`, no question, or a text that is too long or not valid
                UTF-8.
        """
        check_queries(queries)
        found: list[DirectedGraphs] = []
        starts = range(0, len(queries), GROUP)
        for start in tqdm(starts, desc="retrieval", disable=not progress, unit="group", delay=2):
            group = queries[start : start + GROUP]
            with autocast(self.device, self.precision):
                forward, backward = self._read(group)
                results = [
                    _walk(model, read, group, batch_size)
                    for model, read in ((self.forward, forward), (self.backward, backward))
                ]
            cut = [
                one.truncated | other.truncated
                for one, other in ((forward.questions, backward.questions), (forward.facts, backward.facts))
            ]
            lost = (truncated_texts(query, *cut) for query in group)
            kept = map(_union, forward.kept, backward.kept)
            found += [DirectedGraphs(*each) for each in zip(*results, lost, kept, strict=True)]
        return found

    def _read(self, queries: Sequence[Query]) -> tuple[_Read, _Read]:
        """Questions and facts after the frozen layers, for each direction; computed once if these are the same. Facts
        come from the cache of `keep_facts` if it contains all of them; of others only those are read that one of the
        directions keeps."""
        kept = self.kept
        if kept is not None and not all(fact in kept[0].number for query in queries for fact in query.facts):
            kept = None
        models, read = (self.forward, self.backward), list[_Read]()
        for number, model in enumerate(models):
            if number and self.shared:
                questions, facts = read[0].questions, read[0].facts
            else:
                questions = Sentences(
                    (q.question for q in queries), self.tokenizer, max_tokens=model.config.question_tokens
                )
                texts = [f for q in queries for f in q.facts] if kept is None else []
                facts = Sentences(texts, self.tokenizer, max_tokens=model.config.fact_tokens)
            facts = facts if kept is None else kept[number]
            read.append(_Read(questions, facts, _kept_facts(model, questions, facts, queries)))
        needed = {text for one in read for q, chosen in zip(queries, one.kept, strict=True) for text in _of(q, chosen)}
        for model, one in zip(models, read, strict=True):
            for sentences, wanted in ((one.questions, None), (one.facts, needed)):
                if sentences.states is None:  # else they are kept, or those of the other direction
                    sentences.lower(model.encoder, wanted)
        return read[0], read[1]


def read_alike(forward: BgrRetriever, backward: BgrRetriever) -> bool:
    """True if both directions share the encoding of sentences, including frozen layers if there are any."""
    one, two = forward.config, backward.config
    limits = [(c.frozen_layers, c.question_tokens, c.fact_tokens) for c in (one, two)]
    if limits[0] != limits[1] or one.encoder.to_dict() != two.encoder.to_dict():
        return False
    pairs = zip(forward.encoder.frozen_parameters(), backward.encoder.frozen_parameters(), strict=True)
    return all(torch.equal(a, b) for a, b in pairs)


@dataclass(frozen=True)
class _Read:
    """Input of one direction for a group of queries: their sentences, and the candidates of each query that the pruner
    keeps, ``None`` for all."""

    questions: Sentences
    facts: Sentences
    kept: list[list[int] | None]


def _union(one: list[int] | None, two: list[int] | None) -> tuple[int, ...] | None:
    return None if one is None or two is None else tuple(sorted({*one, *two}))


def _of(query: Query, chosen: list[int] | None) -> Sequence[str]:
    return query.facts if chosen is None else [query.facts[number] for number in chosen]


def _kept_facts(
    model: BgrRetriever, questions: Sentences, facts: Sentences, queries: Sequence[Query]
) -> list[list[int] | None]:
    """One question at a time: those with many candidates are few, and each is a large batch of its own."""
    chosen: list[list[int] | None] = []
    for query in queries:
        most = min(query.read_first or model.config.prune, model.config.prune)
        if not most or len(query.facts) <= most:
            chosen.append(None)
            continue
        if query.read_first:
            chosen.append(list(range(most)))
            continue
        batch = make_batch(questions, facts, [(query.question, query.facts)], states=False).to(model.device)
        columns = kept_columns(model, batch)
        assert columns is not None
        chosen.append([column for column in columns[0].tolist() if column >= 0])
    return chosen


@torch.inference_mode()
def _walk(model: BgrRetriever, read: _Read, queries: Sequence[Query], batch_size: int) -> list[DirectionResult]:
    """One direction over all queries. A sentence that questions share is encoded only once."""
    results: list[DirectionResult] = []
    for start in range(0, len(queries), batch_size):
        part = range(start, min(start + batch_size, len(queries)))
        samples = [(queries[n].question, _of(queries[n], read.kept[n])) for n in part]
        batch = make_batch(read.questions, read.facts, samples).to(model.device)
        encoded = model.encode_batch(batch.questions, batch.facts, batch.candidates)
        found = decode(model, encoded, explore=EXPLORE)
        for number, one in zip(part, found, strict=True):
            kept = read.kept[number]
            results.append(one if kept is None else unpruned(one, kept, len(queries[number].facts)))
    return results


def check_queries(queries: Sequence[Query]) -> None:
    """Check questions, and candidates where they are given.

    Raises:
        DataError: a query has no fact, more than `MAX_FACTS`, no question, or a text that is too long or not valid
            UTF-8.
    """
    for number, query in enumerate(queries):
        if not query.question.strip():
            raise DataError(f"query {number}: the question is empty")
    for number, query in enumerate(queries):
        if found := text_problem(query.question):
            raise DataError(f"query {number}: the question {found}")
        if query.candidates is None:
            continue
        if not query.candidates:
            raise DataError(f"query {number}: there are no facts")
        if len(query.candidates) > MAX_FACTS:
            raise DataError(f"query {number}: {len(query.candidates)} facts, allowed: {MAX_FACTS}")
        for place, fact in enumerate(query.candidates):
            if found := text_problem(fact):
                raise DataError(f"query {number}: fact {place} {found}")


def check_pool(pool: int | None) -> None:
    """Check the number of candidates from a collection; DataError otherwise."""
    if pool is not None and not 1 <= pool <= MAX_FACTS:
        raise DataError(f"a pool of {pool:,} candidates, allowed: 1 to {MAX_FACTS:,}")
