"""Benchmarks of a training step and of retrieval in both directions against the bare encoder on the same tokens."""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Protocol

import torch
from torch import Tensor, nn
from transformers import BertModel

from bgr.data.example import Example
from bgr.graph.evidence_graph import EvidenceGraph
from bgr.models.batching import Batch, Sentences, make_batch
from bgr.models.ragged import Ragged, length_buckets
from bgr.models.retriever import BgrRetriever
from bgr.models.state_cache import cache_encoded
from bgr.pipeline import read_alike
from bgr.retrievers.graph_hop.decode import EXPLORE, decode
from bgr.retrievers.graph_hop.likelihood import DirectionResult
from eval.bench.avoided import Avoided, OracleRetriever, avoided
from eval.bench.measure import compare, in_turns, line
from eval.bench.options import InferBenchOptions, TrainBenchOptions
from eval.bench.reference.plain_model import PlainRetriever
from eval.bench.utilization import utilization

MAX_STEP_RATIO = 1.3
"""Target: maximum ratio of a training step to the encoder's forward and backward."""

MAX_RATIO = 1.2
"""Target: maximum ratio of both graphs to the bare encoders."""

MAX_MS = 15.0
"""Target with cached fact states: milliseconds per question of 25 facts on two cores with MiniLM."""

Lines = list[dict[str, Any]]
"""Results of `eval.bench.measure.line`."""

Used = dict[str, Any]
"""Result of `eval.bench.utilization.utilization`."""

Graphs = list[list[DirectionResult]]


class BareEncoder:
    """A BERT on the distinct sentences of a batch in buckets of similar length: the lower bound of the benchmarks."""

    def __init__(self, bert: BertModel) -> None:
        self.bert = bert

    def forward(self, batch: Batch) -> list[Tensor]:
        """The last token states of each bucket, questions and facts together. *Shape:* ``[s, t, d]`` each."""
        both = (batch.questions, batch.facts)
        rows = Ragged(torch.cat([part.flat for part in both]), torch.cat([part.lengths for part in both]))
        states = []
        for group in length_buckets(rows.lengths):
            part = rows.select(group)
            states.append(self.bert(input_ids=part.padded(), attention_mask=part.mask().long()).last_hidden_state)
        return states

    def forward_backward(self, batch: Batch) -> None:
        """Compute the states and the gradients of a trivial loss."""
        self.bert.zero_grad()
        torch.stack([states.mean() for states in self.forward(batch)]).sum().backward()


class Steps(Protocol):
    """A model with batches that can be trained one optimizer step at a time.

    `step` does a complete step on a batch, computed by another form of the model if one is given; `dtype` is that of
    autocast, if any.
    """

    model: BgrRetriever
    tokens: list[Batch]
    device: torch.device
    dtype: torch.dtype | None

    def graphs(self, number: int) -> Sequence[EvidenceGraph]: ...
    def step(self, number: int, computed_by: nn.Module | None = None) -> None: ...


@dataclass(frozen=True)
class Pair:
    """Both directions in evaluation mode, on their device. Trained models follow their own paths, untrained ones the
    gold graphs; `dtype` is that of autocast, if any."""

    forward: BgrRetriever
    backward: BgrRetriever
    tokenizer: Any
    trained: bool
    dtype: torch.dtype | None = None

    @property
    def models(self) -> tuple[BgrRetriever, BgrRetriever]:
        return self.forward, self.backward

    @property
    def device(self) -> torch.device:
        return self.forward.device


def bench_train(form: str, steps: Steps, options: TrainBenchOptions) -> tuple[Lines, Used]:
    """Time the training step of one form of the model: against the bare encoder, against the plain definition (once, on
    the first batch), and a line for each piece of avoided work. Also what it uses of the device."""
    floor = BareEncoder(copy.deepcopy(steps.model.encoder.bert).requires_grad_(True))

    def bare_step(batch: Batch) -> None:
        with _autocast(steps):
            floor.forward_backward(batch)

    questions = [len(batch.candidates) for batch in steps.tokens]
    numbers = range(len(questions))
    used = utilization(
        f"{form}: training step",
        [partial(steps.step, number) for number in numbers],
        sum(questions),
        steps.device,
        rounds=options.rounds,
    )
    work = f"{form}: training step"
    lines = [
        compare(
            work,
            "bare encoder, forward + backward",
            [partial(steps.step, number) for number in numbers],
            [partial(bare_step, batch) for batch in steps.tokens],
            sum(questions),
            rounds=options.rounds,
            device=steps.device,
            max_ratio=MAX_STEP_RATIO,
        )
    ]
    if options.plain:
        sides = [partial(steps.step, 0)], [partial(steps.step, 0, PlainRetriever(steps.model))]
        lines.append(compare(work, "plain definition", *sides, questions[0], rounds=1, warm=False, device=steps.device))
    pieces = avoided(steps.model, steps.tokens[0], steps.graphs(0), training=True)
    return lines + _avoided(form, steps, pieces, questions[0], options.rounds), used


def bench_infer(
    form: str, pair: Pair, examples: Sequence[Example], folder: Path, options: InferBenchOptions
) -> tuple[Lines, Used]:
    """Time the retrieval of one form of the model: both graphs against the bare encoders and the plain definition
    (once, on the first batch), also with the fact states cached in `folder` and then with every question alone, and a
    line for each piece of avoided work of the forward direction. Also what it uses of the device."""
    size, count = options.batch_size, len(examples)
    groups = [examples[i : i + size] for i in range(0, count, size)]
    batches, single = (_Batches(pair, part, folder) for part in (groups, [[e] for e in examples]))
    shared = bool(pair.forward.config.frozen_layers) and batches.shared
    encoders = [BareEncoder(model.encoder.bert) for model in pair.models][: 1 if shared else 2]
    timed = partial(in_turns, rounds=options.rounds, device=pair.device)
    numbers = range(len(groups))
    pieces_of_graphs = [partial(batches.graphs, number) for number in numbers]
    used = utilization(f"{form}: both graphs", pieces_of_graphs, count, pair.device, rounds=options.rounds)
    graphs, cached, bare = timed(
        pieces_of_graphs,
        [partial(batches.graphs_from_cache, number) for number in numbers],
        [partial(batches.bare, number, encoders) for number in numbers],
        name=f"{form}: graphs",
    )
    alone, bare_alone = timed(
        [partial(single.graphs_from_cache, number) for number in range(count)],
        [partial(single.bare, number, encoders) for number in range(count)],
        name=f"{form}: one at a time",
    )
    work, against = f"{form}: both graphs", f"{'the shared bare encoder' if shared else 'both bare encoders'}, forward"
    lines = [
        line(work, against, graphs, bare, count, max_ratio=MAX_RATIO),
        line(f"{work}, facts cached", against, cached, bare, count, max_ms=MAX_MS),
        line(f"{work}, facts cached, one at a time", against, alone, bare_alone, count),
    ]
    if options.plain:
        sides = [partial(batches.graphs, 0)], [partial(batches.graphs, 0, plain=True)]
        lines.append(
            compare(work, "plain definition", *sides, len(groups[0]), rounds=1, warm=False, device=pair.device)
        )
    with torch.inference_mode():
        with _autocast(pair):
            pieces = avoided(pair.forward, batches.tokens[0], [e.graph for e in groups[0]], training=False)
        return lines + _avoided(form, pair, pieces, len(groups[0]), options.rounds), used


def _avoided(form: str, setting: Steps | Pair, pieces: Sequence[Avoided], questions: int, rounds: int) -> Lines:
    """A line for each piece of work that the model avoids, with the backward pass if gradients are required."""

    def run(work: Callable[[], Tensor]) -> None:
        with _autocast(setting):
            out = work()
        if out.requires_grad:
            out[out.isfinite()].sum().backward()

    return [
        compare(
            f"{form}: {piece.work}",
            piece.against,
            [partial(run, piece.fast)],
            [partial(run, piece.slow)],
            questions,
            rounds=rounds,
            device=setting.device,
        )
        for piece in pieces
    ]


def _autocast(setting: Steps | Pair) -> torch.autocast:
    return torch.autocast(setting.device.type, setting.dtype, enabled=setting.dtype is not None)


class _Batches:
    """Groups of examples as token ids, with cached states of their facts."""

    def __init__(self, pair: Pair, groups: Sequence[Sequence[Example]], folder: Path) -> None:
        self.pair, self.groups = pair, groups
        self.facts = self._all_facts()
        self.cached = [self._all_facts() for _ in pair.models]
        for model, facts in zip(pair.models, self.cached, strict=True):
            with _autocast(pair):
                cache_encoded(facts, model, folder, progress=True)
        self.shared = read_alike(*pair.models)
        self.tokens = [self.batch(number, self.facts) for number in range(len(groups))]

    def _all_facts(self) -> Sentences:
        texts = (f for g in self.groups for e in g for f in e.facts)
        return Sentences(texts, self.pair.tokenizer, max_tokens=self.pair.forward.config.fact_tokens)

    def batch(self, number: int, facts: Sentences) -> Batch:
        group, limit = self.groups[number], self.pair.forward.config.question_tokens
        questions = Sentences((e.question for e in group), self.pair.tokenizer, max_tokens=limit)
        return make_batch(questions, facts, [(e.question, e.facts) for e in group]).to(self.pair.device)

    @torch.inference_mode()
    def graphs(self, number: int, *, plain: bool = False) -> Graphs:
        """Both graphs from token ids; shared frozen layers run once."""
        batch, found = self.tokens[number], []
        with _autocast(self.pair):
            if self.shared and not plain:
                lower = self.pair.forward.encoder.lower
                batch = Batch(lower(batch.questions), lower(batch.facts), batch.candidates)
            for model in self.pair.models:
                found.append(self._decode(number, PlainRetriever(model) if plain else model, batch))
        return found

    @torch.inference_mode()
    def graphs_from_cache(self, number: int) -> Graphs:
        """Both graphs from the text of the question and the cached states of facts."""
        found: Graphs = []
        with _autocast(self.pair):
            for model, facts in zip(self.pair.models, self.cached, strict=True):
                batch = self.batch(number, facts)
                if not (found and self.shared):
                    questions = model.encoder.lower(batch.questions)
                found.append(self._decode(number, model, Batch(questions, batch.facts, batch.candidates)))
        return found

    @torch.inference_mode()
    def bare(self, number: int, encoders: Sequence[BareEncoder]) -> None:
        with _autocast(self.pair):
            for encoder in encoders:
                encoder.forward(self.tokens[number])

    def _decode(self, number: int, model: Any, batch: Batch) -> list[DirectionResult]:
        encoded = model.encode_batch(batch.questions, batch.facts, batch.candidates)
        oracle: Any = model if self.pair.trained else OracleRetriever(model, [e.graph for e in self.groups[number]])
        return decode(oracle, encoded, explore=EXPLORE)
